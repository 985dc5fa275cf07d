"""What the dynamic linker reads, against objects made here and pyelftools."""

from __future__ import annotations

import contextlib
import io
import struct
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.binary.builders import FIXTURES, Part, elf, memory
from tests.doctor.binary.linking import NEEDS, WEAK, Want, shared

from dsv4_doctor.binary.dynamic import defined_of, defined_with_stem, read_dynamic
from dsv4_doctor.binary.source import BinaryError

WHOLE = shared(
    Want("memcpy", "libc.so.6", "GLIBC_2.14"),
    Want("pthread_create", "libc.so.6", "GLIBC_2.34"),
    Want("_Znwm", "libstdc++.so.6", "GLIBCXX_3.4"),
    "_ZN3c105ErrorC2ESs",
    Want("__gmon_start__", info=WEAK),
    needed=("libtorch.so", "libc.so.6"),
    defined=("PyInit__C",),
    soname="lib_C.so",
    rpath="$ORIGIN:/opt/lib",
    runpath="$ORIGIN/../lib",
)


def test_everything_that_it_reads() -> None:
    found = read_dynamic(memory(WHOLE))
    assert found is not None
    assert (found.soname, found.needed) == ("lib_C.so", ("libtorch.so", "libc.so.6"))
    assert (found.rpath, found.runpath) == (("$ORIGIN", "/opt/lib"), ("$ORIGIN/../lib",))
    assert [(each.name, each.version, each.weak) for each in found.undefined] == [
        ("memcpy", "GLIBC_2.14", False),
        ("pthread_create", "GLIBC_2.34", False),
        ("_Znwm", "GLIBCXX_3.4", False),
        ("_ZN3c105ErrorC2ESs", "", False),
        ("__gmon_start__", "", True),
    ]
    assert found.versions == (
        ("libc.so.6", "GLIBC_2.14"),
        ("libc.so.6", "GLIBC_2.34"),
        ("libstdc++.so.6", "GLIBCXX_3.4"),
    )


def test_what_it_defines() -> None:
    source = memory(shared("f", defined=("_ZN3c105ErrorC2E1s", "g")))
    assert defined_of(source, frozenset(("f", "g", "h"))) == {"g"}
    assert defined_with_stem(source, frozenset(("_ZN3c105Error", "h"))) == {"_ZN3c105Error"}
    assert defined_with_stem(source, frozenset()) == set()
    assert defined_of(memory(elf()), frozenset("g")) == set()


def test_what_no_dynamic_linker_loads() -> None:
    assert read_dynamic(memory(elf(Part(".text", b"code")))) is None
    assert read_dynamic(memory((FIXTURES / "lz4.o").read_bytes())) is None


@pytest.mark.parametrize("name", ["none.so", "linked.so"])
def test_the_same_as_pyelftools(name: str) -> None:
    data = (FIXTURES / name).read_bytes()
    theirs = ELFFile(io.BytesIO(data))

    def section(of: str) -> Any:
        return theirs.get_section_by_name(of)

    found = read_dynamic(memory(data))
    assert found is not None
    tags = section(".dynamic").iter_tags()
    assert list(found.needed) == [each.needed for each in tags if each.entry.d_tag == "DT_NEEDED"]
    symbols = list(section(".dynsym").iter_symbols())
    undefined = [each for each in symbols if each["st_shndx"] == "SHN_UNDEF" and each.name]
    assert [each.name for each in found.undefined] == [each.name for each in undefined]
    weak = [each["st_info"]["bind"] == "STB_WEAK" for each in undefined]
    assert [each.weak for each in found.undefined] == weak
    needs = section(".gnu.version_r")
    listed = needs.iter_versions() if needs else ()
    pairs = [(library.name, each.name) for library, many in listed for each in many]
    assert sorted(found.versions) == sorted(pairs)
    names = {each.name for each in symbols if each["st_shndx"] != "SHN_UNDEF"}
    assert defined_of(memory(data), frozenset(names)) == names - {""}


def test_versions_without_end() -> None:
    one = struct.pack("<HHIII", 1, 0xFFFF, 0, 16, 16)
    parts = (
        Part(".dynstr", b"\0"),
        Part("", one * 64, kind=NEEDS, link=1),
        Part("", kind=6, link=1),
    )
    with pytest.raises(BinaryError, match="more than 10000 versions"):
        read_dynamic(memory(elf(*parts)))


def test_table_too_large() -> None:
    with pytest.raises(BinaryError, match="268435457 bytes"):
        read_dynamic(memory(elf(Part("", kind=6, link=1, size=(1 << 28) + 1))))
    with pytest.raises(BinaryError, match="no section 9"):
        read_dynamic(memory(elf(Part("", kind=6, link=9))))


@given(st.integers(0, len(WHOLE) - 1), st.binary(min_size=1, max_size=16))
def test_damage_anywhere_ends_in_an_error_or_an_answer(at: int, damage: bytes) -> None:
    data = WHOLE[:at] + damage + WHOLE[at + len(damage) :]
    for whole in (data, data[: at + 1]):
        with contextlib.suppress(BinaryError):
            read_dynamic(memory(whole))
        with contextlib.suppress(BinaryError):
            defined_of(memory(whole), frozenset(("PyInit__C",)))
