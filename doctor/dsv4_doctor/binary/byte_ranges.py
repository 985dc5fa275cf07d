"""Where two files first differ, and what lies there."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING

from dsv4_doctor.binary.elf import SECTION_STRINGS, SECTION_SYMBOLS, TYPE_RELOCATABLE, read_elf
from dsv4_doctor.binary.source import Window
from dsv4_doctor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsv4_doctor.binary.elf import Elf
    from dsv4_doctor.binary.fatbin import Image
    from dsv4_doctor.binary.source import Source

_BLOCK = 1 << 20
# A run of bytes that differ is followed no further: where it starts is what tells.
_LONGEST_RUN = 1 << 16

_DYNAMIC_SYMBOLS = 11
_SYMBOL = struct.Struct("<IBBHQQ")
_OBJECT_OR_FUNCTION = (1, 2)
_MAX_SYMBOLS = 64 << 20
_LONGEST_NAME = 4096
_LONGEST_TEXT = 8 << 20


@dataclass(frozen=True)
class Range:
    """The first bytes in which two files differ.

    Attributes:
        start: Offset of the first byte that differs, in the older file.
        end: Offset behind the last byte of that run, which is followed for 64 kB.
        section: The ELF section that it starts in, ``headers`` between the sections of an ELF
            file, ``line 12`` in a text, empty otherwise.
        image: The architecture of the image that it starts in, empty outside of images.
        symbol: The function or object that it starts in, mangled; in a table of strings, the
            string; in a cubin that is not compressed, the section of the cubin. Empty when there
            is none that could be told.
    """

    start: int
    end: int
    section: str = ""
    image: str = ""
    symbol: str = ""


def first_difference(one: Source, other: Source, size: int) -> Range | None:
    """Return where two files first differ in their first bytes, ``None`` for nowhere.

    Raises:
        BinaryError: One of them cannot be read.
    """
    for offset in range(0, size, _BLOCK):
        length = min(_BLOCK, size - offset)
        mine, theirs = one.read(offset, length), other.read(offset, length)
        if mine != theirs:
            start = common_prefix(mine, theirs)
            pairs = zip(mine[start : start + _LONGEST_RUN], theirs[start:], strict=False)
            run = sum(1 for _ in takewhile(lambda pair: pair[0] != pair[1], pairs))
            return Range(offset + start, offset + start + run)
    return None


def common_prefix(one: bytes, other: bytes) -> int:
    """Return how many bytes two blocks have in common at their start."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def located(found: Range, source: Source, images: Iterable[Image]) -> Range:
    """Return a range in an ELF file or fat binary with what it starts in."""
    image = next(
        (each for each in images if each.header <= found.start < each.offset + each.stored), None
    )
    if image is not None:
        name = image.arch.compute if image.kind == "ptx" else image.arch.sm
        found = replace(found, image=name)
    try:
        elf = read_elf(source)
        section = elf.section_at(found.start) or "headers"
        symbol = _in_cubin(source, image, found.start) if image else _symbol(elf, found.start)
    except InputError:
        return found
    return replace(found, section=section, symbol=symbol)


def in_text(found: Range, source: Source) -> Range:
    """Return a range with the line that it starts in, if the file looks like a text."""
    if found.start > _LONGEST_TEXT:
        return found
    before = source.read(0, found.start)
    whole = before + source.read(found.start, min(_BLOCK, source.size - found.start))
    if b"\0" in whole:
        return found
    line = before.count(b"\n") + 1
    return replace(found, section=f"line {line}")


def _in_cubin(source: Source, image: Image, offset: int) -> str:
    if image.kind != "cubin" or image.compression != "none" or offset < image.offset:
        return ""
    cubin = read_elf(Window(source, source.name, image.offset, image.stored))
    return cubin.section_at(offset - image.offset)


def _symbol(elf: Elf, offset: int) -> str:
    index, section = elf.index_at(offset)
    if section is None:
        return ""
    if section.kind == SECTION_STRINGS:
        start = max(section.offset, offset - _LONGEST_NAME)
        end = min(section.offset + section.size, offset + _LONGEST_NAME)
        before, after = (
            elf.source.read(start, offset - start),
            elf.source.read(offset, end - offset),
        )
        whole = before.rpartition(b"\0")[2] + after.partition(b"\0")[0]
        return whole.decode("ascii", "replace")
    position = offset - section.offset + (0 if elf.kind == TYPE_RELOCATABLE else section.address)
    for table in elf.sections:
        if table.kind in {SECTION_SYMBOLS, _DYNAMIC_SYMBOLS} and table.size <= _MAX_SYMBOLS:
            content = elf.content(table)
            rows = content[: len(content) - len(content) % _SYMBOL.size]
            for name, info, _, home, value, size in _SYMBOL.iter_unpack(rows):
                inside = home == index and value <= position < value + size
                if inside and info & 0xF in _OBJECT_OR_FUNCTION:
                    return elf.name_in(table.link, name)
    return ""
