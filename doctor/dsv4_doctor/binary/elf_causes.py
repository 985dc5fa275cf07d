"""Why two ELF files differ: section by section, and image by image in fat binaries."""

from __future__ import annotations

import struct
from collections import Counter
from typing import TYPE_CHECKING

from dsv4_doctor.binary.byte_ranges import first_difference
from dsv4_doctor.binary.causes import Cause, Explained, neutral, sized
from dsv4_doctor.binary.device_code import LINKED, RELOCATABLE
from dsv4_doctor.binary.elf import SECTION_NO_CONTENT, SECTION_STRINGS, read_elf
from dsv4_doctor.binary.fatbin import read_containers
from dsv4_doctor.binary.line_times import LineTableError, as_date, without_times
from dsv4_doctor.binary.payload import UndecodedError, load
from dsv4_doctor.binary.source import Window
from dsv4_doctor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.binary.elf import Elf, Section
    from dsv4_doctor.binary.fatbin import Image
    from dsv4_doctor.binary.source import Source

# Larger parts are compared, but not looked into: that takes several copies of both in memory.
_LARGEST = 8 << 20
# Of a library of which every image differs, the first show why.
_MOST_IMAGES = 16
_STRINGS = (".comment", ".rodata.str", ".debug_str", ".debug_line_str")
_OF_THE_REST = {
    ".note.gnu.build-id": "a hash of the rest of the file",
    ".gnu_debuglink": "name and checksum of the file with the debug symbols",
}
_TOOL = ".note.nv.tkinfo"
_RELOCATIONS = 4
_RELOCATION = struct.Struct("<QQq")
_DEVICE_CODE = (LINKED, RELOCATABLE)


def compare_elf(old: Source, new: Source, found: Explained, inside: str = "") -> None:
    """Find out why two ELF files differ.

    Args:
        old: The older one.
        new: The newer one.
        found: Takes what is found out.
        inside: What they are part of, for a cubin in a fat binary.

    Raises:
        InputError: One of them is damaged.
    """
    _Comparison(old, new, found, inside).run()


class _Comparison:
    def __init__(self, old: Source, new: Source, found: Explained, inside: str) -> None:
        self._old, self._new, self._found, self._inside = old, new, found, inside
        self._elves = read_elf(old), read_elf(new)

    def run(self) -> None:
        mine, theirs = (_by_name(each) for each in self._elves)
        differing = False
        for key in dict.fromkeys((*mine, *theirs)):
            one, other = mine.get(key), theirs.get(key)
            if one is None or other is None:
                which = "older" if other is None else "newer"
                self._found.unexplained.append(f"{self._at(key[0])} only in the {which}")
                differing = True
            elif self._differs(one, other):
                self._section(key[0], one, other)
                differing = True
        if not differing:
            self._found.unexplained.append(self._at("headers"))

    def _at(self, name: str) -> str:
        return f"{self._inside} {name}" if self._inside else name

    def _differs(self, one: Section, other: Section) -> bool:
        if one.size != other.size or one.kind != other.kind:
            return True
        if SECTION_NO_CONTENT in (one.kind, other.kind):
            return False
        windows = self._windows(one, other)
        return first_difference(*windows, one.size) is not None

    def _windows(self, one: Section, other: Section) -> tuple[Window, Window]:
        return (
            Window(self._old, self._old.name, one.offset, one.size),
            Window(self._new, self._new.name, other.offset, other.size),
        )

    def _section(self, name: str, one: Section, other: Section) -> None:
        where, found = self._at(name), self._found
        if SECTION_NO_CONTENT in (one.kind, other.kind) or max(one.size, other.size) == 0:
            found.unexplained.append(sized(where, one.size, other.size))
        elif name in _DEVICE_CODE:
            self._images(where, one, other)
        elif max(one.size, other.size) > _LARGEST:
            found.unexplained.append(
                f"{sized(where, one.size, other.size)}, too large to look into"
            )
        else:
            old, new = (each.read(0, each.size) for each in self._windows(one, other))
            self._content(name, one, old, new)

    def _content(self, name: str, section: Section, old: bytes, new: bytes) -> None:
        where, found = self._at(name), self._found
        if name in _OF_THE_REST:
            found.causes.append(Cause("build-id", where, _OF_THE_REST[name]))
        elif name == _TOOL:
            found.options(old, new, where)
        elif name == ".debug_line":
            found.causes += _line_times(old, new, where)
            found.part(_timeless(old), _timeless(new), where)
        elif section.kind == _RELOCATIONS and _only_addends(old, new):
            detail = "what the relocations point to has moved within its section"
            found.causes.append(Cause("offsets", where, detail))
        else:
            strings = section.kind == SECTION_STRINGS or name.startswith(_STRINGS)
            found.part(old, new, where, strings=strings)

    def _images(self, where: str, one: Section, other: Section) -> None:
        mine = tuple(read_containers(self._old, one.offset, one.size))
        theirs = tuple(read_containers(self._new, other.offset, other.size))
        if [_kind(each) for each in mine] != [_kind(each) for each in theirs]:
            before, after = _counted(mine), _counted(theirs)
            if before == after:
                self._found.unexplained.append(f"{where}: the same images in another order")
            else:
                detail = f"{_listed(before - after)} -> {_listed(after - before)}"
                self._found.causes.append(Cause("device-code", where, detail))
            return
        pairs = [pair for pair in zip(mine, theirs, strict=True) if self._image_differs(*pair)]
        for image, image_new in pairs[:_MOST_IMAGES]:
            self._image(where, image, image_new)
        if len(pairs) > _MOST_IMAGES:
            rest = f"{len(pairs) - _MOST_IMAGES} more images of {len(pairs)} that differ"
            self._found.unexplained.append(f"{where}: {rest}, not looked into")

    def _image_differs(self, image: Image, other: Image) -> bool:
        if image.stored != other.stored or self._header(image, self._old) != self._header(
            other, self._new
        ):
            return True
        mine = Window(self._old, self._old.name, image.offset, image.stored)
        theirs = Window(self._new, self._new.name, other.offset, other.stored)
        return first_difference(mine, theirs, image.stored) is not None

    def _header(self, image: Image, source: Source) -> bytes:
        """Return the header of an image without its sizes and the flags of its compression."""
        head = source.read(image.header, image.offset - image.header)
        return head[:8] + head[20:40] + head[64:]

    def _image(self, where: str, image: Image, other: Image) -> None:
        name = image.arch.compute if image.kind == "ptx" else image.arch.sm
        at = f"{where} {name}"
        heads = self._header(image, self._old), self._header(other, self._new)
        if heads[0] != heads[1]:
            self._found.options(*heads, f"{at} header")
        try:
            mine, theirs = load(self._old, image), load(self._new, other)
            if mine.size == theirs.size and first_difference(mine, theirs, mine.size) is None:
                if image.stored != other.stored or image.compression != other.compression:
                    pair = (f"{each.stored} bytes of {each.compression}" for each in (image, other))
                    self._found.causes.append(Cause("compression", at, " -> ".join(pair)))
            elif image.kind == "cubin":
                compare_elf(mine, theirs, self._found, at)
            elif max(mine.size, theirs.size) <= _LARGEST:
                self._found.part(mine.read(0, mine.size), theirs.read(0, theirs.size), at)
            else:
                self._found.unexplained.append(f"{at}, too large to look into")
        except (InputError, UndecodedError) as error:
            self._found.unexplained.append(f"{at}: {error}")


def _by_name(elf: Elf) -> dict[tuple[str, int], Section]:
    """Return the sections by neutral name; of those with one name, by their number, too."""
    found: dict[tuple[str, int], Section] = {}
    numbers: dict[str, int] = {}
    for name, section in elf.all_named():
        plain = neutral(name.encode()).decode()
        number = numbers[plain] = numbers.get(plain, -1) + 1
        if section.kind:
            found[plain, number] = section
    return found


def _kind(image: Image) -> tuple[str, str]:
    return image.kind, image.arch.sm


def _counted(images: tuple[Image, ...]) -> Counter[str]:
    return Counter(
        f"{each.arch.compute} PTX" if each.kind == "ptx" else f"{each.arch.sm} {each.kind}"
        for each in images
    )


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{number} {name}" for name, number in sorted(counts.items())) or "none"


def _only_addends(old: bytes, new: bytes) -> bool:
    if len(old) != len(new) or len(old) % _RELOCATION.size:
        return False
    pairs = zip(_RELOCATION.iter_unpack(old), _RELOCATION.iter_unpack(new), strict=True)
    return all(one[:2] == other[:2] for one, other in pairs)


def _line_times(old: bytes, new: bytes, where: str) -> Iterator[Cause]:
    try:
        mine, theirs = without_times(old)[1], without_times(new)[1]
    except LineTableError:
        return
    pair = next((each for each in zip(mine, theirs, strict=False) if each[0] != each[1]), None)
    if pair is not None:
        before, after = map(as_date, pair)
        detail = f"a source was written {before} -> {after}"
        yield Cause("times", where, detail)


def _timeless(content: bytes) -> bytes:
    try:
        return without_times(content)[0]
    except LineTableError:
        return content
