"""The section table of an ELF file, and the symbols of a cubin.

This is not pyelftools, on purpose, although that library reads both. It drops the bit of
``st_other`` that tells a kernel from a function; for the 428 cubins in the main extension of
vLLM 0.24.0 it took 4.4 s where this module takes 0.25 s; and importing it costs a tenth of the
time that `check` may take. A damaged file makes it raise whatever its parser happens to trip
over: here there is one error, and no loop that the file's own numbers could make long. The tests
hold both against each other.
"""

from __future__ import annotations

import struct
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from dsv4_doctor.binary.marks import ELF
from dsv4_doctor.binary.source import BinaryError, check_range
from dsv4_doctor.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dsv4_doctor.binary.source import Source

TYPE_RELOCATABLE = 1
MACHINE_CUDA = 190
SECTION_SYMBOLS = 2
SECTION_STRINGS = 3
SECTION_NO_CONTENT = 8
SECTION_NONE = 0

_CLASS_64_LITTLE_ENDIAN = b"\x02\x01"
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")

_SYMBOL_FUNCTION = 2
# STO_CUDA_ENTRY in st_other: a kernel, where its absence is a function that only kernels call.
# The binding says nothing: CUTLASS declares its kernels static, and their symbols are local.
_KERNEL_ENTRY = 0x10

# More than any real file has (the largest cubin seen has 4,126 sections), little enough to read.
_MAX_SECTIONS = 1 << 20
_MAX_NAMES = 1 << 28
# The largest cubin of vLLM 0.7.2 has 97 MB. Its names are read one by one, because a copy of all of
# them would be most of what is needed above the cubin itself.
_WHOLE_NAMES = 4 << 20
_NAME_PIECE = 4 << 10
# Mangled names of CUTLASS kernels have some thousand characters.
_LONGEST_NAME = 1 << 18


class Section(NamedTuple):
    """One section header; a tuple, because a cubin can have thousands of them.

    Attributes:
        name_at: Offset of its name in the table of section names.
        kind: ``sh_type``.
        offset: Where its content starts in the file.
        size: Of the content.
        link: Index of the section that belongs to it; for symbols, that of their names.
        address: Where it is loaded, zero in an object file.
    """

    name_at: int
    kind: int
    offset: int
    size: int
    link: int
    address: int = 0


@dataclass(frozen=True)
class Elf:
    """What the header and the section table say.

    Attributes:
        kind: ``e_type``.
        machine: ``e_machine``.
        names: Index of the section that holds the section names.
        flags: ``e_flags``.
        abi: ``EI_ABIVERSION``.
    """

    source: Source
    kind: int
    machine: int
    sections: tuple[Section, ...]
    names: int
    flags: int = 0
    abi: int = 0

    def content(self, section: Section) -> bytes:
        """Return the content of a section.

        Raises:
            BinaryError: It lies outside the file.
        """
        return self.source.read(section.offset, section.size)

    def named(self, wanted: frozenset[str]) -> Iterator[tuple[str, Section]]:
        """Yield the sections with one of these names.

        Raises:
            BinaryError: The names cannot be read.
        """
        return ((name, section) for name, section in self.all_named() if name in wanted)

    def all_named(self) -> Iterator[tuple[str, Section]]:
        """Yield every section with its name.

        Raises:
            BinaryError: The names cannot be read.
        """
        if self.sections:
            names = self._strings(self.names)
            for section in self.sections:
                yield _string(names, section.name_at), section

    def section_at(self, offset: int) -> str:
        """Return the name of the section that a byte of the file is in, empty for none.

        Raises:
            BinaryError: The names cannot be read.
        """
        _, section = self.index_at(offset)
        return "" if section is None else self.name_in(self.names, section.name_at)

    def index_at(self, offset: int) -> tuple[int, Section | None]:
        """Return number and header of the section that a byte of the file is in."""
        for index, section in enumerate(self.sections):
            inside = section.offset <= offset < section.offset + section.size
            if section.kind not in {SECTION_NONE, SECTION_NO_CONTENT} and inside:
                return index, section
        return 0, None

    def name_in(self, index: int, start: int) -> str:
        """Return the name at an offset in the table of names with this number.

        Raises:
            BinaryError: There is no such table.
        """
        return self._names(index)(start)

    def kernels(self) -> Iterator[tuple[str, int]]:
        """Yield name and code size in bytes of every kernel of a cubin.

        Raises:
            BinaryError: The symbols or their names cannot be read.
        """
        for section in self.sections:
            if section.kind != SECTION_SYMBOLS:
                continue
            symbols = self.content(section)
            name_of = self._names(section.link)
            whole = len(symbols) - len(symbols) % _SYMBOL.size
            for name_at, info, other, home, _, size in _SYMBOL.iter_unpack(symbols[:whole]):
                if info & 0xF == _SYMBOL_FUNCTION and other & _KERNEL_ENTRY and home:
                    yield name_of(name_at), size

    def _names(self, index: int) -> Callable[[int], str]:
        """Return what reads the name at an offset in a table of names."""
        section = self._table(index)
        if section.size <= _WHOLE_NAMES:
            return partial(_string, self.content(section))
        check_range(self.source, section.offset, section.size)
        return partial(self._name, section)

    def _name(self, section: Section, start: int) -> str:
        name = b""
        while start < section.size and len(name) < _LONGEST_NAME:
            piece = self.source.read(section.offset + start, min(_NAME_PIECE, section.size - start))
            end = piece.find(b"\0")
            if end >= 0:
                return (name + piece[:end]).decode("ascii", "replace")
            name += piece
            start += len(piece)
        return ""

    def _strings(self, index: int) -> bytes:
        return self.content(self._table(index))

    def _table(self, index: int) -> Section:
        if index >= len(self.sections):
            raise BinaryError(self.source.name, 0, f"there is no section {index} for names")
        section = self.sections[index]
        if section.size > _MAX_NAMES:
            reason = f"a table of names of {section.size} bytes"
            raise BinaryError(self.source.name, section.offset, reason)
        return section


def read_elf(source: Source) -> Elf:
    """Read header and section table.

    Raises:
        BinaryError: Not a 64-bit little-endian ELF file, or damaged.
    """
    identity = source.read(0, min(source.size, 16))
    if not identity.startswith(ELF):
        raise BinaryError(source.name, 0, "not an ELF file")
    if identity[4:6] != _CLASS_64_LITTLE_ENDIAN:
        raise BinaryError(source.name, 4, "not a 64-bit little-endian ELF file")
    header = _HEADER.unpack(source.read(0, _HEADER.size))
    kind, machine, table, flags = header[1], header[2], header[6], header[7]
    entry_size, count, names = header[11:14]
    if table == 0:
        return Elf(source, kind, machine, (), 0, flags, identity[8])
    if entry_size != _SECTION.size:
        raise BinaryError(source.name, 58, f"section headers of {entry_size} bytes")
    check_range(source, table, entry_size)
    if count == 0 or names == 0xFFFF:
        # Numbers that do not fit into the header stand in the first section header.
        first = _SECTION.unpack(source.read(table, entry_size))
        count, names = count or first[5], first[6] if names == 0xFFFF else names
    if count > _MAX_SECTIONS:
        raise BinaryError(source.name, table, f"{count} sections")
    raw = _SECTION.iter_unpack(source.read(table, count * entry_size))
    sections = tuple(Section(row[0], row[1], row[4], row[5], row[6], row[3]) for row in raw)
    return Elf(source, kind, machine, sections, names, flags, identity[8])


def _string(table: bytes, start: int) -> str:
    # Names outside the table, or without an end, are damage that concerns that one name only.
    end = table.find(b"\0", start)
    return table[start:end].decode("ascii", "replace") if end >= 0 else ""
