"""Why two ELF files differ, section by section."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from dsv4_doctor.binary.byte_ranges import first_difference
from dsv4_doctor.binary.causes import LARGEST_PART, Cause, Explained, neutral, sized
from dsv4_doctor.binary.device_code import LINKED, RELOCATABLE
from dsv4_doctor.binary.elf import SECTION_NO_CONTENT, SECTION_STRINGS, read_elf
from dsv4_doctor.binary.image_causes import compare_images
from dsv4_doctor.binary.line_times import LineTableError, as_date, without_times
from dsv4_doctor.binary.source import Window

if TYPE_CHECKING:
    from dsv4_doctor.binary.elf import Elf, Section
    from dsv4_doctor.binary.source import Source

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
            compare_images(*self._windows(one, other), found, where, compare_elf)
        elif max(one.size, other.size) > LARGEST_PART:
            found.too_large(where, one.size, other.size)
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
            _lines(old, new, found, where)
        elif section.kind == _RELOCATIONS and _only_addends(old, new):
            detail = "what the relocations point to has moved within its section"
            found.causes.append(Cause("offsets", where, detail))
        else:
            strings = section.kind == SECTION_STRINGS or name.startswith(_STRINGS)
            found.part(old, new, where, strings=strings)


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


def _only_addends(old: bytes, new: bytes) -> bool:
    if len(old) != len(new) or len(old) % _RELOCATION.size:
        return False
    pairs = zip(_RELOCATION.iter_unpack(old), _RELOCATION.iter_unpack(new), strict=True)
    return all(one[:2] == other[:2] for one, other in pairs)


def _lines(old: bytes, new: bytes, found: Explained, where: str) -> None:
    try:
        (old, mine), (new, theirs) = without_times(old), without_times(new)
    except LineTableError:
        mine = theirs = ()
    pair = next((each for each in zip(mine, theirs, strict=False) if each[0] != each[1]), None)
    if pair is not None:
        detail = f"a source was written {as_date(pair[0])} -> {as_date(pair[1])}"
        found.causes.append(Cause("times", where, detail))
    if old != new:
        found.part(old, new, where)
