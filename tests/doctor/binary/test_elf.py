"""The ELF reader, against files made here, real objects, and pyelftools."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from tests.doctor.binary.builders import (
    FIXTURES,
    LOCAL_FUNCTION,
    Part,
    Symbol,
    cubin,
    elf,
    memory,
)

from dsv4_doctor.binary.device_code import read_images
from dsv4_doctor.binary.elf import MACHINE_CUDA, TYPE_RELOCATABLE, read_elf
from dsv4_doctor.binary.payload import load
from dsv4_doctor.binary.source import BinaryError

OBJECTS = sorted(each for each in FIXTURES.iterdir() if each.suffix in {".o", ".so"})


def test_sections_by_name() -> None:
    read = read_elf(memory(elf(Part(".a", b"first"), Part(".b", b"x"), Part(".a", b"second"))))
    found = [(name, read.content(each)) for name, each in read.named(frozenset((".a", ".c")))]
    assert found == [(".a", b"first"), (".a", b"second")]


@pytest.mark.parametrize("path", OBJECTS, ids=lambda path: path.name)
def test_sections_are_those_that_pyelftools_sees(path: Path) -> None:
    data = path.read_bytes()
    theirs = ELFFile(io.BytesIO(data))
    ours = read_elf(memory(data))
    names = frozenset(each.name for each in theirs.iter_sections())
    assert [(name, each.offset, each.size) for name, each in ours.named(names)] == [
        (each.name, each["sh_offset"], each["sh_size"]) for each in theirs.iter_sections()
    ]
    assert (ours.kind == TYPE_RELOCATABLE) is (path.suffix == ".o")


@pytest.mark.parametrize("path", OBJECTS, ids=lambda path: path.name)
def test_kernels_are_the_text_sections_that_pyelftools_sees(path: Path) -> None:
    source = memory(path.read_bytes())
    for image in read_images(source).usable:
        if image.kind != "cubin":
            continue
        code = load(source, image)
        sections = ELFFile(io.BytesIO(code.read(0, code.size))).iter_sections()
        names = [each.name for each in sections]
        theirs = {name.removeprefix(".text.") for name in names if name.startswith(".text.")}
        kernels = list(read_elf(code).kernels())
        assert {name for name, _ in kernels} == theirs - {"_Z12not_a_kernelf"}
        assert all(size > 0 for _, size in kernels)


def test_a_kernel_is_a_defined_function_with_the_entry_bit() -> None:
    data = cubin(
        Symbol("exported"),
        Symbol("hidden", info=LOCAL_FUNCTION, size=77),
        Symbol("called_by_kernels", other=0),
        Symbol("elsewhere", home=0),
        Symbol("a_variable", info=0x11),
    )
    assert list(read_elf(memory(data)).kernels()) == [("exported", 128), ("hidden", 77)]


def test_file_without_sections() -> None:
    header = bytearray(elf())
    struct.pack_into("<Q", header, 40, 0)
    read = read_elf(memory(bytes(header)))
    assert read.sections == ()
    assert list(read.named(frozenset((".text",)))) == []
    assert list(read.kernels()) == []


def test_numbers_that_do_not_fit_the_header() -> None:
    data = bytearray(elf(Part(".a", b"content")))
    (table,) = struct.unpack_from("<Q", data, 40)
    count, names = struct.unpack_from("<HH", data, 60)
    struct.pack_into("<HH", data, 60, 0, 0xFFFF)
    struct.pack_into("<Q", data, table + 32, count)
    struct.pack_into("<I", data, table + 40, names)
    read = read_elf(memory(bytes(data)))
    assert [name for name, _ in read.named(frozenset((".a",)))] == [".a"]


def test_truncated_at_every_byte() -> None:
    whole = cubin("kernel")
    for length in range(len(whole)):
        with pytest.raises(BinaryError):
            list(read_elf(memory(whole[:length])).kernels())


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not an ELF file"),
        (b"#!/bin/sh\n" * 10, "not an ELF file"),
        (b"\x7fELF\x01\x01" + b"\0" * 80, "64-bit"),
        (b"\x7fELF\x02\x02" + b"\0" * 80, "64-bit"),
    ],
    ids=["empty", "script", "32-bit", "big-endian"],
)
def test_what_it_does_not_read(data: bytes, reason: str) -> None:
    with pytest.raises(BinaryError, match=reason):
        read_elf(memory(data))


def test_lying_numbers() -> None:
    for offset, layout, value in ((58, "<H", 63), (40, "<Q", 1 << 60), (60, "<H", 0xFFFE)):
        data = bytearray(elf(Part(".a")))
        struct.pack_into(layout, data, offset, value)
        with pytest.raises(BinaryError):
            read_elf(memory(bytes(data)))


def test_names_without_a_section_or_an_end() -> None:
    data = bytearray(elf(Part(".a")))
    struct.pack_into("<H", data, 62, 40)
    with pytest.raises(BinaryError, match="no section 40"):
        list(read_elf(memory(bytes(data))).named(frozenset((".a",))))
    names = Part(".strtab", b"no_end", kind=3)
    symbol = struct.pack("<IBBHQQ", 0, 0x12, 0x10, 1, 0, 8)
    table = Part(".symtab", symbol, kind=2, link=1)
    read = read_elf(memory(elf(names, table, machine=MACHINE_CUDA)))
    assert list(read.kernels()) == [("", 8)]


@pytest.mark.parametrize("piece", [1, 3, 4096])
def test_names_read_one_by_one_are_the_same(monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    data = cubin("kernel", Symbol("x" * 300), Symbol("not_a_kernel", other=0), "last")
    whole = list(read_elf(memory(data)).kernels())
    monkeypatch.setattr("dsv4_doctor.binary.elf._WHOLE_NAMES", 0)
    monkeypatch.setattr("dsv4_doctor.binary.elf._NAME_PIECE", piece)
    assert list(read_elf(memory(data)).kernels()) == whole
    monkeypatch.setattr("dsv4_doctor.binary.elf._LONGEST_NAME", 100)
    monkeypatch.setattr("dsv4_doctor.binary.elf._NAME_PIECE", 1)
    assert [len(name) for name, _ in read_elf(memory(data)).kernels()] == [6, 0, 4]
