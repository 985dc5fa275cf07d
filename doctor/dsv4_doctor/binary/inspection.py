"""What a file, a wheel or a directory holds: the one function that commands and checks call."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsv4_doctor.binary.device_code import DeviceImages, archs_of, read_images
from dsv4_doctor.binary.families import FamilyEvidence, Tally
from dsv4_doctor.binary.objects import open_objects
from dsv4_doctor.binary.payload import UndecodedError, read_kernels
from dsv4_doctor.errors import InputError
from dsv4_doctor.knowledge.kernels import families

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from os import PathLike

    from dsv4_doctor.arch import Arch
    from dsv4_doctor.binary.fatbin import Image
    from dsv4_doctor.binary.objects import Opened
    from dsv4_doctor.knowledge.kernels import Family

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
        unread: Cubins that should have been read and could not be.
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
    unread: tuple[Unread, ...] = ()
    error: str | None = None


@dataclass(frozen=True)
class Inspection:
    """Everything that was found below one path.

    Attributes:
        path: As the user named it.
        objects: In the order of the directory or archive.
        searched: Families that were looked for in kernel names; empty when no names were read.
        complete: Whether every cubin was read. If not, reading stopped at the first proof of each
            family, and counts are lower bounds.
    """

    path: str
    objects: tuple[SharedObject, ...]
    searched: tuple[str, ...] = ()
    complete: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the inspection in the schema ``dsv4-doctor/inspection/1``."""
        return {"schema": SCHEMA, **asdict(self)}


def inspect_path(
    path: str | PathLike[str],
    *,
    kernels: bool = False,
    prove: Iterable[str] = (),
    prefer: Iterable[Arch] = (),
) -> Inspection:
    """Read what is inside a shared object, object file, static library, wheel or directory.

    Without options only headers are read, which gives the architectures.

    Args:
        path: What to look at.
        kernels: Read the kernel names of every cubin, and recognise all families.
        prove: Families to look for; reading stops at the first proof of each.
        prefer: Architectures whose code is looked at first, so that a proof is about them.

    Raises:
        InputError: The path cannot be read or is of an unknown format. In an archive or a
            directory, an object that cannot be read is reported in its own ``error`` instead.
    """
    path = Path(path)
    wanted = _wanted(kernels, frozenset(prove))
    with open_objects(path) as opened:
        readings = [_Reading(each, wanted) for each in opened]
        if len(readings) == 1 and readings[0].name == str(path) and readings[0].error is not None:
            raise readings[0].error
        if kernels:
            for reading in readings:
                reading.read_all()
        else:
            _read_until_proved(readings, wanted, frozenset(arch.base for arch in prefer))
        objects = tuple(reading.result() for reading in readings)
    return Inspection(str(path), objects, tuple(each.id for each in wanted), kernels)


def _wanted(kernels: bool, prove: frozenset[str]) -> tuple[Family, ...]:
    return tuple(each for each in families() if each.variants and (kernels or each.id in prove))


def _read_until_proved(
    readings: list[_Reading], wanted: tuple[Family, ...], prefer: frozenset[Arch]
) -> None:
    # Where a family usually is comes first, for every family, before anything else is read.
    for usual in (True, False):
        for family in wanted:
            for reading in readings:
                if any(each.tally.proves(family) for each in readings):
                    break
                if family.usual_in(reading.name) is usual:
                    reading.read_for(family, prefer)


class _Reading:
    """One object while it is being read."""

    def __init__(self, opened: Opened, wanted: tuple[Family, ...]) -> None:
        self.name = opened.name
        self.error: InputError | None = None
        self.tally = Tally(wanted)
        self._images = DeviceImages(())
        self._size = 0
        self._kernels: int | None = None
        self._done: set[int] = set()
        self._unread: dict[tuple[str, bool], Unread] = {}
        if isinstance(opened.content, InputError):
            self.error = opened.content
            return
        self._source = opened.content
        self._size = self._source.size
        try:
            self._images = read_images(self._source)
        except InputError as error:
            self.error = error

    def read_all(self) -> None:
        """Read the kernel names of every cubin."""
        for image in self._cubins():
            self._read(image)

    def read_for(self, family: Family, prefer: frozenset[Arch]) -> None:
        """Read cubins that can prove a family until one of their architectures does."""

        def order(image: Image) -> tuple[bool, Arch, int]:
            return image.arch.base not in prefer, image.arch, image.offset

        for image in sorted(self._cubins(), key=order):
            if image.header not in self._done and family.accepts(image.arch):
                self._read(image)
                if self.tally.proves(family):
                    return

    def result(self) -> SharedObject:
        """Return what is known by now."""
        usable = self._images.usable
        return SharedObject(
            name=self.name,
            size=self._size,
            sass=tuple(arch.sm for arch in archs_of(usable, "cubin")),
            ptx=tuple(arch.compute for arch in archs_of(usable, "ptx")),
            images=tuple(_summaries(usable)),
            leftover=len(self._images.leftover),
            families=self.tally.evidence(),
            kernels=self._kernels,
            unread=tuple(self._unread.values()),
            error=str(self.error) if self.error else None,
        )

    def _cubins(self) -> Iterator[Image]:
        return (image for image in self._images.usable if image.kind == "cubin")

    def _read(self, image: Image) -> None:
        self._done.add(image.header)
        try:
            kernels = read_kernels(self._source, image)
        except (InputError, UndecodedError) as error:
            # One damaged cubin in a thousand needs its offset; a thousand need only their number.
            key = image.arch.sm, isinstance(error, InputError)
            known = self._unread.get(key) or Unread(image.arch.sm, 0, str(error))
            self._unread[key] = replace(known, count=known.count + 1)
            return
        self._kernels = (self._kernels or 0) + len(kernels)
        self.tally.add(image.arch, kernels)


def _summaries(images: Iterable[Image]) -> Iterator[ImageSummary]:
    groups: dict[tuple[str, str, str | None, str], list[Image]] = {}
    for image in images:
        arch = image.arch.compute if image.kind == "ptx" else image.arch.sm
        groups.setdefault((image.kind, arch, image.isa, image.compression), []).append(image)
    for key, alike in groups.items():
        stored, size = sum(each.stored for each in alike), sum(each.size for each in alike)
        yield ImageSummary(*key, len(alike), stored, size)
