"""One object while it is being read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dsv4_doctor.binary.contents import ImageSummary, SharedObject, Unread
from dsv4_doctor.binary.device_code import DeviceImages, archs_of, read_images
from dsv4_doctor.binary.dynamic import defined_of
from dsv4_doctor.binary.families import Tally
from dsv4_doctor.binary.linkage import read_linkage
from dsv4_doctor.binary.payload import UndecodedError, read_kernels
from dsv4_doctor.binary.verdicts import UNKNOWN_DRIVER, judge
from dsv4_doctor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsv4_doctor.arch import Arch
    from dsv4_doctor.binary.fatbin import Image
    from dsv4_doctor.binary.linkage import Linked
    from dsv4_doctor.binary.objects import Opened
    from dsv4_doctor.binary.verdicts import Driver
    from dsv4_doctor.knowledge.kernels import Family


class Reading:
    """One object while it is being read."""

    def __init__(self, opened: Opened, wanted: tuple[Family, ...]) -> None:
        self.name = opened.name
        self.error: InputError | None = None
        self.tally = Tally(wanted)
        self._images = DeviceImages(())
        self._size = 0
        self.linked: Linked | None = None
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

    def read_linkage(self) -> None:
        """Read how the object is linked."""
        if self.error is None:
            try:
                self.linked = read_linkage(self._source, self.name)
            except InputError as error:
                self.error = error

    def defines(self, wanted: frozenset[str]) -> set[str]:
        """Return those of the wanted symbols that the object defines for others."""
        return defined_of(self._source, wanted) if self.linked is not None else set()

    def result(self, gpus: Iterable[Arch] = (), driver: Driver = UNKNOWN_DRIVER) -> SharedObject:
        """Return what is known by now.

        Args:
            gpus: GPUs for which to say whether they run it.
            driver: What their driver can compile.
        """
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
            code=None if self._kernels is None else self.tally.code,
            unclaimed=None if self._kernels is None else self.tally.unclaimed,
            unread=tuple(self._unread.values()),
            verdicts=tuple(judge(usable, gpu, driver) for gpu in gpus) if usable else (),
            linkage=self.linked.linkage if self.linked else None,
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
