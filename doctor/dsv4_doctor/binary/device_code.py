"""The device code of one object: which images it holds, from headers alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.binary.elf import MACHINE_CUDA, SECTION_NO_CONTENT, read_elf
from dsv4_doctor.binary.fatbin import Image, read_containers
from dsv4_doctor.binary.marks import FATBIN
from dsv4_doctor.binary.source import BinaryError
from dsv4_doctor.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsv4_doctor.arch import Arch
    from dsv4_doctor.binary.fatbin import Kind
    from dsv4_doctor.binary.source import Source

LINKED = ".nv_fatbin"
RELOCATABLE = "__nv_relfatbin"
_SECTIONS = frozenset((LINKED, RELOCATABLE))


@dataclass(frozen=True)
class DeviceImages:
    """The images of one object.

    Attributes:
        usable: Those that the CUDA runtime can load, or, in an object that has none, those that
            the device linker will take.
        leftover: Relocatable images beside linked ones. The linker has already put their code
            into the linked ones, and nothing loads them.
    """

    usable: tuple[Image, ...]
    leftover: tuple[Image, ...] = ()


def read_images(source: Source) -> DeviceImages:
    """Read the headers of all fat binaries in an ELF file, or of one that is a file itself.

    A cubin is the one image of itself.

    Raises:
        BinaryError: Neither of these, damaged, or the device code was split off into another file.
    """
    if source.peek(len(FATBIN)) == FATBIN:
        return DeviceImages(tuple(read_containers(source, 0, source.size)))
    elf = read_elf(source)
    if elf.machine == MACHINE_CUDA:
        # A check looks at libraries only, and must not wait for this.
        from dsv4_doctor.binary.cubin import read_arch  # noqa: PLC0415

        whole = source.size
        return DeviceImages((Image("cubin", read_arch(elf), None, "none", 0, 0, whole, whole),))
    found: dict[str, list[Image]] = {LINKED: [], RELOCATABLE: []}
    for name, section in elf.named(_SECTIONS):
        if section.kind == SECTION_NO_CONTENT:
            reason = f"section {name} has no content: this is a separate file of debug symbols"
            raise BinaryError(source.name, section.offset, reason)
        found[name] += read_containers(source, section.offset, section.size)
    linked, relocatable = tuple(found[LINKED]), tuple(found[RELOCATABLE])
    if linked:
        return DeviceImages(linked, relocatable)
    return DeviceImages(relocatable)


def archs_of(images: Iterable[Image], kind: Kind) -> tuple[Arch, ...]:
    """Return the architectures of the images of one kind, in order, each once."""
    return tuple(sorted({image.arch for image in images if image.kind == kind}))
