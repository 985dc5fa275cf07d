"""Cubins and fat binaries that are files of their own."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.binary.builders import (
    FIXTURES,
    PTX,
    Entry,
    Part,
    Wheel,
    container,
    cubin,
    elf,
    kernels,
    memory,
)

from dsv4_doctor.arch import Arch
from dsv4_doctor.binary.cubin import read_arch
from dsv4_doctor.binary.device_code import read_images
from dsv4_doctor.binary.elf import MACHINE_CUDA, read_elf
from dsv4_doctor.binary.inspection import Options, inspect_path
from dsv4_doctor.binary.payload import load
from dsv4_doctor.binary.source import BinaryError

OBJECTS = ["none.so", "lz4.o", "relocatable.o", "linked.so", "wrong_arch.o"]
NOTE = b"\0" * 24 + b"\0ptxas\0-arch sm_120f -m 64 \0"


@pytest.mark.parametrize("name", OBJECTS)
def test_real_cubins_say_what_the_fat_binary_around_them_says(name: str, tmp_path: Path) -> None:
    source = memory((FIXTURES / name).read_bytes())
    cubins = [each for each in read_images(source).usable if each.kind == "cubin"]
    assert cubins
    for image in cubins:
        code = load(source, image)
        assert read_arch(read_elf(code)) == image.arch
        (tmp_path / "a.cubin").write_bytes(code.read(0, code.size))
        (found,) = inspect_path(tmp_path / "a.cubin", Options(kernels=True)).objects
        assert found.sass == (image.arch.sm,)
        assert found.kernels


@pytest.mark.parametrize(
    ("abi", "flags", "sections", "arch"),
    [
        (7, 0x340534, (), "sm_52"),
        (7, 0x5A055A, (), "sm_90"),
        (7, 0x5A0D5A, (), "sm_90a"),
        (8, 0x6005A04, (), "sm_90"),
        (8, 0x6005A04, (Part(".nv.compat", b"\x02\x02\x01\0\x02\x09\x01\0"),), "sm_90a"),
        (8, 0x6007802, (Part(".nv.compat", b"\x02\x09\0\0"),), "sm_120"),
        (8, 0x6007802, (Part(".note.nv.tkinfo", NOTE),), "sm_120f"),
        (8, 0x6007902, (Part(".note.nv.tkinfo", NOTE),), "sm_121"),
    ],
)
def test_where_the_architecture_stands(
    abi: int, flags: int, sections: tuple[Part, ...], arch: str
) -> None:
    data = elf(*sections, kind=2, machine=MACHINE_CUDA, flags=flags, abi=abi)
    assert read_arch(read_elf(memory(data))) == Arch.parse(arch)


def test_flags_that_name_no_architecture() -> None:
    with pytest.raises(BinaryError, match=r"architecture number 0 .*\(at offset 0x30\)"):
        read_images(memory(cubin("kernel")))


def test_section_too_large_to_be_what_it_is_called() -> None:
    note = Part(".note.nv.tkinfo", b"", size=1 << 30)
    data = elf(note, kind=2, machine=MACHINE_CUDA, flags=0x6005A04, abi=8)
    with pytest.raises(BinaryError, match="1073741824 bytes"):
        read_images(memory(data))


def test_fat_binary_file(tmp_path: Path) -> None:
    path = tmp_path / "k.fatbin"
    path.write_bytes(container(kernels("sm_80", "k"), Entry("sm_90", kind=PTX)))
    (found,) = inspect_path(path).objects
    assert (found.sass, found.ptx) == (("sm_80",), ("compute_90",))
    members = {"pkg/k.fatbin": path.read_bytes(), "pkg/k.txt": path.read_bytes()}
    (tmp_path / "x.whl").write_bytes(Wheel(members=members).data())
    (found,) = inspect_path(tmp_path / "x.whl", Options(kernels=True)).objects
    assert (found.name, found.sass, found.kernels) == ("pkg/k.fatbin", ("sm_80",), 1)


@given(st.binary(max_size=64), st.integers(0, 255), st.integers(0, 2**32 - 1))
def test_any_note_and_flags_end_in_an_architecture_or_an_error(
    note: bytes, abi: int, flags: int
) -> None:
    parts = (Part(".note.nv.tkinfo", note), Part(".nv.compat", note))
    data = elf(*parts, kind=2, machine=MACHINE_CUDA, flags=flags, abi=abi)
    with contextlib.suppress(BinaryError):
        assert read_arch(read_elf(memory(data))).number >= 10
