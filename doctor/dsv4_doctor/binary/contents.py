"""What an inspection finds, as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dsv4_doctor.lazy_dataclass import as_data, dataclass

if TYPE_CHECKING:
    from dsv4_doctor.binary.families import FamilyEvidence
    from dsv4_doctor.binary.link_problems import LinkageSummary
    from dsv4_doctor.binary.linkage import Linkage
    from dsv4_doctor.binary.verdicts import GpuVerdict

SCHEMA = "dsv4-doctor/inspection/1"


@dataclass(frozen=True)
class ImageSummary:
    """The images of one object that are alike.

    Attributes:
        kind: ``cubin``, ``ptx``, ``lto`` or ``other``.
        arch: Such as ``sm_90a``, or ``compute_90`` for PTX.
        isa: PTX ISA version, ``None`` for other kinds.
        compression: ``none``, ``lz4`` or ``zstd``.
        count: How many there are.
        stored: Bytes that they take in the file.
        size: Bytes once decompressed, as their headers say.
    """

    kind: str
    arch: str
    isa: str | None
    compression: str
    count: int
    stored: int
    size: int


@dataclass(frozen=True)
class Unread:
    """Cubins whose kernel names could not be read; what is in them is not known.

    Attributes:
        arch: Such as ``sm_90a``.
        count: How many.
        reason: Why, for the first of them.
    """

    arch: str
    count: int
    reason: str


@dataclass(frozen=True)
class SharedObject:
    """One object.

    Attributes:
        name: Relative to the path that was inspected; that path itself for a single file.
        size: In bytes.
        sass: Architectures with machine code, such as ``sm_90a``.
        ptx: Architectures with PTX, such as ``compute_80``.
        images: All its images, those that are alike together.
        leftover: Relocatable images that were linked already and that nothing loads.
        families: The kernel families that are proved.
        kernels: Kernels in the cubins that were read, ``None`` when none was read.
        code: Bytes of machine code of those kernels, ``None`` when none was read.
        unclaimed: Bytes of it in kernels that belong to no family that was looked for.
        unread: Cubins that should have been read and could not be.
        verdicts: For each GPU that was asked for, whether the device code runs there; empty for
            an object without device code.
        linkage: How it is linked, ``None`` when that was not asked for, or when no dynamic linker
            loads it, as an object file or a cubin.
        error: Why the object could not be read at all.
    """

    name: str
    size: int
    sass: tuple[str, ...] = ()
    ptx: tuple[str, ...] = ()
    images: tuple[ImageSummary, ...] = ()
    leftover: int = 0
    families: tuple[FamilyEvidence, ...] = ()
    kernels: int | None = None
    code: int | None = None
    unclaimed: int | None = None
    unread: tuple[Unread, ...] = ()
    verdicts: tuple[GpuVerdict, ...] = ()
    linkage: Linkage | None = None
    error: str | None = None


@dataclass(frozen=True)
class Inspection:
    """Everything that was found below one path.

    Attributes:
        path: As the user named it, or where an installed distribution lies.
        objects: In the order of the directory or archive.
        searched: Families that were looked for in kernel names; empty when no names were read.
        complete: Whether every cubin was read. If not, reading stopped at the first proof of each
            family, and counts are lower bounds.
        linkage: How the objects are linked, together; ``None`` when that was not asked for.
    """

    path: str
    objects: tuple[SharedObject, ...]
    searched: tuple[str, ...] = ()
    complete: bool = False
    linkage: LinkageSummary | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the inspection in the schema ``dsv4-doctor/inspection/1``."""
        return {"schema": SCHEMA, **as_data(self)}
