from __future__ import annotations

import ctypes
import shutil
from pathlib import Path

import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from hypothesis import given
from hypothesis import strategies as st
from tests.build.toolchain.fake import CUDA_H

from dsv4_build.toolchain import stub
from dsv4_doctor.errors import BuildError


def test_every_name_that_the_header_can_lead_to() -> None:
    assert stub.driver_functions(CUDA_H) == (
        "cuInit",
        "cuMemAlloc",
        "cuMemAlloc_v2",
        "cuStreamSync",
        "cuStreamSync_ptsz",
    )


def test_the_library_links_and_says_what_it_is(tmp_path: Path) -> None:
    compiler = shutil.which("cc") or "cc"
    header, library = tmp_path / "cuda.h", tmp_path / "stubs" / "libcuda.so"
    header.write_text(CUDA_H)
    stub.build(header, library, compiler)
    with library.open("rb") as file:
        dynamic = ELFFile(file).get_section_by_name(".dynamic")
        assert isinstance(dynamic, DynamicSection)
        names = [
            getattr(tag, "soname", "")
            for tag in dynamic.iter_tags()
            if tag.entry.d_tag == "DT_SONAME"
        ]
    assert names == ["libcuda.so.1"]
    assert ctypes.CDLL(str(library)).cuMemAlloc_v2() == 34
    assert [each.name for each in library.parent.iterdir()] == ["libcuda.so"]


def test_two_runs_give_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "cuda.h").write_text(CUDA_H)
    library = tmp_path / "libcuda.so"
    contents = []
    for _ in range(2):
        stub.build(tmp_path / "cuda.h", library, shutil.which("cc") or "cc")
        contents.append(library.read_bytes())
    assert contents[0] == contents[1]


def test_a_header_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "cuda.h").write_text("int main(void);")
    with pytest.raises(BuildError, match=r"cuda\.h: no stub"):
        stub.build(tmp_path / "cuda.h", tmp_path / "libcuda.so", "cc")
    with pytest.raises(BuildError, match=r"absent\.h: no stub"):
        stub.build(tmp_path / "absent.h", tmp_path / "libcuda.so", "cc")


def test_a_compiler_that_fails_is_quoted(tmp_path: Path) -> None:
    (tmp_path / "cuda.h").write_text(CUDA_H)
    with pytest.raises(BuildError, match="/bin/false could not make"):
        stub.build(tmp_path / "cuda.h", tmp_path / "libcuda.so", "/bin/false")


@given(text=st.text(max_size=300))
def test_any_header_gives_names_or_is_refused(text: str) -> None:
    stub.driver_functions(text)
    try:
        made = stub.source(text)
    except ValueError:
        return
    assert made.startswith("int cu")
