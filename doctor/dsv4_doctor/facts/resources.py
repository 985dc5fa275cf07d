"""Places on disk and limits that a build or a server runs into, as facts."""

from __future__ import annotations

from dsv4_doctor.lazy_dataclass import dataclass

# What a limit is when there is none, as in Python's module ``resource``.
UNLIMITED = -1


@dataclass(frozen=True)
class Disk:
    """What lies under a file system.

    Attributes:
        name: Block device such as ``nvme0n1``, empty for a file system without one.
        kind: ``nvme``, ``ssd``, ``rotating``, ``virtual``, ``raid``, ``network``, ``host share``,
            ``memory``, or empty when it could not be told.
        link: PCIe link of an NVMe drive, such as ``PCIe 4.0 x4``.
        raid: Level of a software RAID, such as ``raid0``.
        members: Block devices below a RAID or a logical volume.
    """

    name: str = ""
    kind: str = ""
    link: str | None = None
    raid: str | None = None
    members: tuple[str, ...] = ()


@dataclass(frozen=True)
class Place:
    """One directory that a build or a server uses.

    Attributes:
        role: ``build``, ``temporary``, ``shared memory``, ``model``, or ``cache`` of a program that
            compiles at run time.
        path: As it was found; it may not exist yet.
        chosen_by: The variable that names it, empty for the default.
        mount: Where its file system is mounted.
        filesystem: Type of the file system, such as ``ext4``, ``overlay``, ``9p``.
        size: Of the file system.
        free: What an ordinary user may still take.
        files_free: How many files an ordinary user may still make, ``None`` where the file system
            has no such limit.
        executable: Whether files there may be run and mapped as code.
        writable: Whether this user may create files there, or in the nearest directory above that
            exists.
    """

    role: str
    path: str
    chosen_by: str = ""
    mount: str = ""
    filesystem: str = ""
    size: int | None = None
    free: int | None = None
    executable: bool = True
    writable: bool = True
    disk: Disk | None = None
    files_free: int | None = None


@dataclass(frozen=True)
class CMakeCache:
    """One ``CMakeCache.txt`` of an earlier build in the current directory.

    Attributes:
        path: The file.
        missing: Programs that it remembers and that are not there any more, as ``NAME=path``.
    """

    path: str
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Resources:
    """Limits of this process, places on disk, and settings of the package installers.

    Attributes:
        swap: Size of all swap space, ``None`` when the kernel does not tell.
        nofile_soft: Open files; ``-1`` for no limit, as in the other limits.
        nofile_hard: What this process may raise it to.
        memlock_soft: Bytes that may be locked into memory.
        memlock_hard: What this process may raise it to.
        cmake_caches: Those of earlier builds in the current directory, where it is a source tree.
        package_indexes: Addresses that replace PyPI in configuration files, by file and key.
    """

    swap: int | None = None
    nofile_soft: int | None = None
    nofile_hard: int | None = None
    memlock_soft: int | None = None
    memlock_hard: int | None = None
    places: tuple[Place, ...] = ()
    cmake_caches: tuple[CMakeCache, ...] = ()
    package_indexes: dict[str, str] | None = None

    def place(self, role: str) -> Place | None:
        """Return the first place of a role, ``None`` when there is none."""
        return next((each for each in self.places if each.role == role), None)
