"""Files in the formats that the inspector reads, made byte by byte."""

from __future__ import annotations

import io
import struct
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from dsv4_doctor.arch import Arch
from dsv4_doctor.binary.fatbin import CONTAINER, ENTRY, MAGIC, VERSION
from dsv4_doctor.binary.source import Memory

FIXTURES = Path(__file__).parent / "fixtures"

PTX, CUBIN, LTO = 1, 2, 8
LZ4, ZSTD = 0x2000, 0x8000
SUFFIX_FLAGS = {"": 0, "a": 0x100000, "f": 0x200000}
ENTRY_POINT = 0x10
GLOBAL_FUNCTION = 0x12
LOCAL_FUNCTION = 0x02


@dataclass(frozen=True)
class Entry:
    """One image; every field of its header can be made to lie."""

    arch: str = "sm_80"
    kind: int = CUBIN
    payload: bytes = b"\0" * 8
    flags: int = 0
    compressed: int = 0
    size: int = 0
    isa: tuple[int, int] = (9, 0)
    header: int = ENTRY.size
    stored: int | None = None

    def data(self) -> bytes:
        """Return header and padded payload."""
        arch = Arch.parse(self.arch)
        padded = self.payload + b"\0" * (-len(self.payload) % 8)
        fields = (
            *(self.kind, 0x101, self.header),
            len(padded) if self.stored is None else self.stored,
            *(self.compressed, 0, self.isa[1], self.isa[0], arch.number, 0, 0),
            *(self.flags | SUFFIX_FLAGS[arch.suffix], 0, self.size),
        )
        return ENTRY.pack(*fields) + b"\0" * (self.header - ENTRY.size) + padded


def container(*entries: Entry) -> bytes:
    """Return one fat binary."""
    body = b"".join(entry.data() for entry in entries)
    return CONTAINER.pack(MAGIC, VERSION, CONTAINER.size, len(body)) + body


@dataclass(frozen=True)
class Part:
    """One section of an ELF file; ``link`` counts from the first part, which is section 1."""

    name: str
    data: bytes = b""
    kind: int = 1
    link: int = 0
    size: int | None = None


def elf(*parts: Part, kind: int = 3, machine: int = 62, flags: int = 0, abi: int = 0) -> bytes:
    """Return a 64-bit ELF file of these sections, followed by the section names."""
    everything = [Part("", kind=0), *parts, Part(".shstrtab", kind=3)]
    names = b"\0".join(part.name.encode() for part in everything) + b"\0"
    everything[-1] = Part(".shstrtab", names, kind=3)
    body, headers, name_at = b"", [], 0
    for part in everything:
        body += b"\0" * (-len(body) % 8)
        size = len(part.data) if part.size is None else part.size
        row = (name_at, part.kind, 0, 0, 64 + len(body), size, part.link, 0, 8, 0)
        headers.append(struct.pack("<IIQQQQIIQQ", *row))
        body += part.data
        name_at += len(part.name) + 1
    body += b"\0" * (-len(body) % 8)
    header = struct.pack(
        "<16sHHIQQQIHHHHHH",
        b"\x7fELF\x02\x01\x01\x00" + bytes([abi]),
        *(kind, machine, 1, 0, 0, 64 + len(body), flags, 64, 0, 0, 64),
        *(len(everything), len(everything) - 1),
    )
    return header + body + b"".join(headers)


@dataclass(frozen=True)
class Symbol:
    """One symbol of a cubin."""

    name: str
    info: int = GLOBAL_FUNCTION
    other: int = ENTRY_POINT
    home: int = 1
    size: int = 128


def cubin(*symbols: Symbol | str, machine: int = 190) -> bytes:
    """Return a cubin with these symbols; a bare name is a kernel."""
    names, table = b"\0", b"\0" * 24
    for each in symbols:
        symbol = Symbol(each) if isinstance(each, str) else each
        row = (len(names), symbol.info, symbol.other, symbol.home, 0, symbol.size)
        table += struct.pack("<IBBHQQ", *row)
        names += symbol.name.encode() + b"\0"
    parts = (Part(".strtab", names, kind=3), Part(".symtab", table, kind=2, link=1))
    return elf(*parts, kind=2, machine=machine)


def library(*entries: Entry) -> bytes:
    """Return a shared object with one fat binary."""
    return elf(Part(".text", b"\x90" * 32), Part(".nv_fatbin", container(*entries)))


def kernels(arch: str, *names: str) -> Entry:
    """Return an uncompressed cubin with these kernels."""
    return Entry(arch, payload=cubin(*names))


def zstd_frame(data: bytes) -> bytes:
    """Return a zstd frame that stores its content as it is."""
    frame = b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", len(data))
    blocks = [data[at : at + (1 << 17)] for at in range(0, len(data), 1 << 17)] or [b""]
    for index, block in enumerate(blocks):
        head = len(block) << 3 | (index == len(blocks) - 1)
        frame += struct.pack("<I", head)[:3] + block
    return frame


def zstd_bomb(size: int) -> bytes:
    """Return a zstd frame of a few bytes that decompresses to ``size`` equal ones."""
    frame = b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", size)
    for left in range(size, 0, -(1 << 17)):
        block = min(left, 1 << 17)
        frame += struct.pack("<I", block << 3 | 1 << 1 | (block == left))[:3] + b"x"
    return frame


def lz4_literals(data: bytes) -> bytes:
    """Return an LZ4 block of one sequence of literals."""
    if len(data) < 15:
        return bytes([len(data) << 4]) + data
    more, rest = divmod(len(data) - 15, 255)
    return b"\xf0" + b"\xff" * more + bytes([rest]) + data


def lz4_bomb(size: int) -> bytes:
    """Return an LZ4 block that repeats one byte ``size`` times."""
    # One literal, one match, and the five literals with which an encoder has to end.
    more, rest = divmod(size - 1 - 5 - 4 - 15, 255)
    return b"\x1fx\x01\x00" + b"\xff" * more + bytes([rest]) + b"\x50xxxxx"


@dataclass
class Wheel:
    """A zip file in memory."""

    method: int = zipfile.ZIP_DEFLATED
    members: dict[str, bytes] = field(default_factory=dict)

    def data(self) -> bytes:
        """Return its bytes."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", self.method) as archive:
            for name, content in self.members.items():
                archive.writestr(name, content)
        return buffer.getvalue()


def ar(*members: tuple[str, bytes]) -> bytes:
    """Return a static library in the GNU variant, long names in their table."""
    table = "".join(f"{name}/\n" for name, _ in members if len(name) > 15).encode()
    data = b"!<arch>\n" + _ar_member("/", b"\0\0\0\0")
    if table:
        data += _ar_member("//", table)
    for name, content in members:
        at = table.find(f"{name}/\n".encode())
        data += _ar_member(f"/{at}" if len(name) > 15 else f"{name}/", content)
    return data


def _ar_member(name: str, content: bytes) -> bytes:
    head = f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode()
    return head + content + b"\n" * (len(content) % 2)


def memory(data: bytes) -> Memory:
    """Return a source over some bytes."""
    return Memory("file", data)
