"""Why the fat binaries of two objects differ, image by image."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dsv4_doctor.binary.byte_ranges import first_difference
from dsv4_doctor.binary.causes import LARGEST_PART, Cause, Explained
from dsv4_doctor.binary.fatbin import read_containers
from dsv4_doctor.binary.payload import UndecodedError, load
from dsv4_doctor.binary.source import Window
from dsv4_doctor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dsv4_doctor.binary.fatbin import Image
    from dsv4_doctor.binary.source import Source

# Of a library of which every image differs, the first show why.
_MOST_IMAGES = 16


def compare_images(
    old: Source,
    new: Source,
    found: Explained,
    where: str,
    compare_cubins: Callable[[Source, Source, Explained, str], None],
) -> None:
    """Find out why two sections of fat binaries differ.

    Args:
        old: The older section.
        new: The newer one.
        found: Takes what is found out.
        where: What the section is called.
        compare_cubins: Does the same for two cubins.

    Raises:
        InputError: One of them is damaged.
    """
    mine, theirs = (list(read_containers(each, 0, each.size)) for each in (old, new))
    if [_kind(each) for each in mine] != [_kind(each) for each in theirs]:
        _other_images(mine, theirs, found, where)
        return
    pairs = [_Pair(old, new, *each) for each in zip(mine, theirs, strict=True)]
    differing = [each for each in pairs if each.differs()]
    for each in differing[:_MOST_IMAGES]:
        each.explain(found, f"{where} {each.name}", compare_cubins)
    if not differing:
        found.unexplained.append(f"{where}: between the images")
    elif len(differing) > _MOST_IMAGES:
        rest = len(differing) - _MOST_IMAGES
        found.unexplained.append(
            f"{where}: {rest} more of {len(differing)} images that differ, not looked into"
        )


class _Pair:
    """Two images of one kind and architecture, at one place in their sections."""

    def __init__(self, old: Source, new: Source, image: Image, other: Image) -> None:
        self._sides = (old, image), (new, other)
        self._kind = image.kind
        self.name = image.arch.compute if image.kind == "ptx" else image.arch.sm

    def differs(self) -> bool:
        (_, image), (_, other) = self._sides
        if image.stored != other.stored or len(set(self._headers())) > 1:
            return True
        mine, theirs = (
            Window(source, source.name, each.offset, each.stored) for source, each in self._sides
        )
        return first_difference(mine, theirs, image.stored) is not None

    def explain(
        self,
        found: Explained,
        where: str,
        compare_cubins: Callable[[Source, Source, Explained, str], None],
    ) -> None:
        headers = self._headers()
        if headers[0] != headers[1]:
            found.options(*headers, f"{where} header")
        try:
            mine, theirs = (load(source, image) for source, image in self._sides)
            if mine.size == theirs.size and first_difference(mine, theirs, mine.size) is None:
                self._compressed(found, where)
            elif self._kind == "cubin":
                compare_cubins(mine, theirs, found, where)
            elif max(mine.size, theirs.size) <= LARGEST_PART:
                found.part(mine.read(0, mine.size), theirs.read(0, theirs.size), where)
            else:
                found.too_large(where, mine.size, theirs.size)
        except (InputError, UndecodedError) as error:
            found.unexplained.append(f"{where}: {error}")

    def _compressed(self, found: Explained, where: str) -> None:
        before, after = (f"{image.stored} bytes of {image.compression}" for _, image in self._sides)
        if before != after:
            found.causes.append(Cause("compression", where, f"{before} -> {after}"))

    def _headers(self) -> tuple[bytes, bytes]:
        """Return both headers without the sizes and the flags of the compression in them."""
        before, after = (
            source.read(image.header, image.offset - image.header) for source, image in self._sides
        )
        return _plain(before), _plain(after)


def _plain(header: bytes) -> bytes:
    return header[:8] + header[20:40] + header[64:]


def _other_images(
    mine: Sequence[Image], theirs: Sequence[Image], found: Explained, where: str
) -> None:
    before, after = _counted(mine), _counted(theirs)
    if before == after:
        found.unexplained.append(f"{where}: the same images in another order")
    else:
        detail = f"{_listed(before - after)} -> {_listed(after - before)}"
        found.causes.append(Cause("device-code", where, detail))


def _kind(image: Image) -> tuple[str, str]:
    return image.kind, image.arch.sm


def _counted(images: Sequence[Image]) -> Counter[str]:
    return Counter(
        f"{each.arch.compute} PTX" if each.kind == "ptx" else f"{each.arch.sm} {each.kind}"
        for each in images
    )


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{number} {name}" for name, number in sorted(counts.items())) or "none"
