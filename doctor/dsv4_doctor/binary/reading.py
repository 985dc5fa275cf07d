"""One object while it is being read."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from dsv4_doctor.binary.contents import ImageSummary, SharedObject, Unread
from dsv4_doctor.binary.device_code import DeviceImages, archs_of, read_images
from dsv4_doctor.binary.families import Tally
from dsv4_doctor.binary.payload import UndecodedError, read_kernels
from dsv4_doctor.binary.source import Memory
from dsv4_doctor.errors import InputError
from dsv4_doctor.lazy_dataclass import replace

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from dsv4_doctor.arch import Arch
    from dsv4_doctor.binary.fatbin import Image
    from dsv4_doctor.binary.linkage import Linked
    from dsv4_doctor.binary.objects import Opened
    from dsv4_doctor.binary.source import Source
    from dsv4_doctor.binary.verdicts import Driver, GpuVerdict
    from dsv4_doctor.knowledge.kernels import Family

# Each holds some megabytes while it inflates: on a server with many cores they would add up.
_MOST_THREADS = 2


class Reading:
    """One object while it is being read.

    Attributes:
        name: As :class:`~dsv4_doctor.binary.objects.Opened` has it.
        source: Its bytes, none when it cannot be opened.
        error: Why it cannot be read.
        tally: What its kernels have shown so far.
        linked: How it is linked, once somebody has read that.
    """

    def __init__(self, opened: Opened, wanted: tuple[Family, ...]) -> None:
        self.name = opened.name
        self.source: Source = Memory(opened.name, b"")
        self.error: InputError | None = None
        self.tally = Tally(wanted)
        self.linked: Linked | None = None
        self._images = DeviceImages(())
        self._kernels: int | None = None
        self._done: set[int] = set()
        self._unread: dict[tuple[str, str], Unread] = {}
        if isinstance(opened.content, InputError):
            self.error = opened.content
            return
        self.source = opened.content
        try:
            self._images = read_images(self.source)
        except InputError as error:
            self.error = error

    def read_all(self) -> None:
        """Read the kernel names of every cubin."""
        for image in self._cubins():
            self._read(image)

    def read_for(self, family: Family, prefer: frozenset[Arch], most: int | None = None) -> None:
        """Read cubins that can prove a family until one of their architectures does.

        Args:
            family: What is to be proved.
            prefer: Architectures whose cubins are read first.
            most: How many cubins may be read; the others count as unread.
        """

        def order(image: Image) -> tuple[bool, Arch, int]:
            return image.arch.base not in prefer, image.arch, image.offset

        able = [
            image
            for image in sorted(self._cubins(), key=order)
            if image.header not in self._done and family.accepts(image.arch)
        ]
        for image in able[:most]:
            self._read(image)
            if self.tally.proves(family):
                return
        for image in able[len(able[:most]) :]:
            reason = f"for {family.id}, no more than {most} cubins were to be read"
            self._leave(image, family.id, reason)

    def result(self, gpus: Collection[Arch] = (), driver: Driver | None = None) -> SharedObject:
        """Return what is known by now.

        Args:
            gpus: GPUs for which to say whether they run it.
            driver: What their driver can compile, ``None`` when not known.
        """
        usable = self._images.usable
        return SharedObject(
            name=self.name,
            size=self.source.size,
            sass=tuple(arch.sm for arch in archs_of(usable, "cubin")),
            ptx=tuple(arch.compute for arch in archs_of(usable, "ptx")),
            images=tuple(_summaries(usable)),
            leftover=len(self._images.leftover),
            families=self.tally.evidence(),
            kernels=self._kernels,
            code=None if self._kernels is None else self.tally.code,
            unclaimed=None if self._kernels is None else self.tally.unclaimed,
            unread=tuple(self._unread.values()),
            verdicts=tuple(_verdicts(usable, gpus, driver)) if usable and gpus else (),
            linkage=self.linked.linkage if self.linked else None,
            error=str(self.error) if self.error else None,
        )

    def _cubins(self) -> Iterator[Image]:
        return (image for image in self._images.usable if image.kind == "cubin")

    def _read(self, image: Image) -> None:
        self._done.add(image.header)
        try:
            kernels = read_kernels(self.source, image)
        except (InputError, UndecodedError) as error:
            self._leave(image, type(error).__name__, str(error))
            return
        self._kernels = (self._kernels or 0) + len(kernels)
        self.tally.add(image.arch, kernels)

    def _leave(self, image: Image, why: str, reason: str) -> None:
        # One damaged cubin in a thousand needs its offset; a thousand need only their number.
        known = self._unread.get((image.arch.sm, why)) or Unread(image.arch.sm, 0, reason)
        self._unread[image.arch.sm, why] = replace(known, count=known.count + 1)


def read_headers(opened: Sequence[Opened], wanted: tuple[Family, ...]) -> list[Reading]:
    """Begin to read objects; those of a wheel side by side, because zlib lets other threads run."""
    if sum(each.packed for each in opened) < 2:
        return [Reading(each, wanted) for each in opened]
    # A check never gets here, and importing this takes longer than it waits for one library.
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    with ThreadPoolExecutor(min(os.cpu_count() or 1, _MOST_THREADS)) as pool:
        return list(pool.map(partial(Reading, wanted=wanted), opened))


def _verdicts(
    images: tuple[Image, ...], gpus: Iterable[Arch], driver: Driver | None
) -> Iterator[GpuVerdict]:
    # A check asks for none, and does not wait for what decides them.
    from dsv4_doctor.binary.verdicts import judge  # noqa: PLC0415

    return (judge(images, gpu, driver) for gpu in gpus)


def _summaries(images: Iterable[Image]) -> Iterator[ImageSummary]:
    groups: dict[tuple[str, str, str | None, str], list[Image]] = {}
    for image in images:
        arch = image.arch.compute if image.kind == "ptx" else image.arch.sm
        groups.setdefault((image.kind, arch, image.isa, image.compression), []).append(image)
    for key, alike in groups.items():
        stored, size = sum(each.stored for each in alike), sum(each.size for each in alike)
        yield ImageSummary(*key, len(alike), stored, size)
