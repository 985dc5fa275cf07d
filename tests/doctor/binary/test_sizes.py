"""Bytes by architecture and by kernel family, and the inspection as Markdown."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.binary.builders import FIXTURES, PTX, Entry, Part, Symbol, container, cubin, elf

from dsv4_doctor.arch import Arch
from dsv4_doctor.binary.contents import Inspection, SharedObject
from dsv4_doctor.binary.inspection import Options, inspect_path
from dsv4_doctor.binary.requirements import Decision
from dsv4_doctor.binary.sizes import sizes_by_arch, sizes_by_family
from dsv4_doctor.cli.main import run
from dsv4_doctor.formats.inspection_markdown import render
from dsv4_doctor.formats.inspection_view import View

V1 = "_ZN4vllm25paged_attention_v1_kernelIfE"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    code = cubin(Symbol(V1, size=100), Symbol("mine", size=30))
    first = container(Entry("sm_80", payload=code), Entry("sm_90", kind=PTX, payload=b"x" * 24))
    (tmp_path / "a.so").write_bytes(elf(Part(".nv_fatbin", first)))
    second = container(Entry("sm_80", payload=cubin(Symbol(V1, size=7))))
    (tmp_path / "b.so").write_bytes(elf(Part(".nv_fatbin", second)))
    return tmp_path


def test_every_byte_is_counted_once(folder: Path) -> None:
    sizes = sizes_by_arch(inspect_path(folder))
    whole = sum(each.stat().st_size for each in folder.iterdir())
    assert sum(each.stored for each in sizes) == whole
    assert sum(each.share for each in sizes) == pytest.approx(1)
    found = {(each.kind, each.arch): each for each in sizes}
    assert set(found) == {("cubin", "sm_80"), ("ptx", "compute_90"), ("host", "")}
    assert (found["cubin", "sm_80"].objects, found["cubin", "sm_80"].images) == (2, 2)
    assert (found["ptx", "compute_90"].stored, found["host", ""].images) == (24, 0)
    assert list(sizes) == sorted(sizes, key=lambda each: -each.stored)


def test_machine_code_of_families(folder: Path) -> None:
    paged, other = sizes_by_family(inspect_path(folder, Options(kernels=True)))
    assert (paged.family, paged.kernels, paged.code, paged.objects) == ("paged-v1", 2, 107, 2)
    assert (other.family, other.kernels, other.code, other.objects) == ("other", None, 30, 1)
    assert paged.share == pytest.approx(107 / 137)
    assert sizes_by_family(inspect_path(folder)) == ()


def test_real_object() -> None:
    found = inspect_path(FIXTURES / "lz4.o", Options(kernels=True))
    assert sum(each.stored for each in sizes_by_arch(found)) == found.objects[0].size
    assert {"fa3", "cutlass", "paged-v2"} <= {each.family for each in sizes_by_family(found)}


def test_nothing_in_it() -> None:
    empty = Inspection("x", ())
    assert (sizes_by_arch(empty), sizes_by_family(empty)) == ((), ())


def test_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["inspect", str(folder), "--by-arch", "--by-family"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert any(line.startswith("host code and data 2 - ") for line in lines)
    assert "paged-v1 80 2 2 0.1 kB 78.1 %" in lines
    assert run(["inspect", str(folder), "--by-family", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert "by_arch" not in document
    assert [each["code"] for each in document["by_family"]] == [107, 30]


def test_markdown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "broken.so").write_bytes(b"\x7fELF")
    options = ["--by-arch", "--by-family", "--gpu", "9.0", "--linkage", "--require", "paged-v1,fa3"]
    assert run(["inspect", str(folder), *options, "--format", "markdown"]) == 1
    out = capsys.readouterr().out
    assert "| a.so |" in out
    assert "| paged-v1 | yes | a.so has 1 kernel in 1 cubin for sm\\_80 |" in out
    assert "| fa3 | unknown |" in out
    assert "| 9.0 (H100, H200, GH200) | b.so | none | 1 of 1 not at all" in out
    assert "Nothing wrong found in how it is linked." in out
    assert "| host code and data | 3 | - |" in out


@given(st.text(), st.text(), st.text())
def test_no_name_breaks_out_of_its_cell(path: str, name: str, error: str) -> None:
    inspection = Inspection(path, (SharedObject(name, 1, error=error),))
    text = render(View(inspection, (Decision("fa3", "unknown", error),)))
    for line in text.splitlines():
        if line.startswith("|"):
            assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) in {4, 6}
        # What parts an @ from a name, so that it calls nobody, is the only invisible character.
        assert line.replace("@\u200b", "@").isprintable()


def test_kernels_for_the_wrong_architecture_belong_to_no_family() -> None:
    found = inspect_path(FIXTURES / "wrong_arch.o", Options(kernels=True))
    assert {each.arch for each in found.objects[0].families} == {Arch(90).sm}
    assert found.objects[0].code is not None
    assert found.objects[0].code >= (found.objects[0].unclaimed or 0)
