"""The command: what it prints, and its exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.doctor.binary.builders import FIXTURES, Entry, Wheel, elf, kernels, library

from dsv4_doctor.cli.main import run

PAGED = ("_ZN4vllm25paged_attention_v2_kernelIfE", "_ZN4vllm32paged_attention_v2_reduce_kernelIfE")


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    path = tmp_path / "vllm.whl"
    members = {
        "vllm/_C.abi3.so": library(kernels("sm_90", "x" * 300 + PAGED[0], *PAGED)),
        "vllm/plain.so": elf(),
    }
    path.write_bytes(Wheel(members=members).data())
    return path


def test_table_and_decisions(wheel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["inspect", str(wheel), "--require", "paged-v2,sm_90", "--require", "fa3"]) == 1
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[:6] == [
        str(wheel),
        "object size machine code PTX",
        "vllm/_C.abi3.so 1.3 kB 90 -",
        "no device code: vllm/plain.so",
        "kernels of read machine code object",
        "paged-v2 3 90 vllm/_C.abi3.so",
    ]
    assert lines[6].startswith("✓ paged-v2 vllm/_C.abi3.so has at least 3 kernels in 1 cubin")
    assert lines[7].endswith("…")
    assert "✓ sm_90 vllm/_C.abi3.so has 1 cubin for sm_90" in lines
    assert "✗ fa3 no fa3 kernel in a cubin for sm_90a" in lines


def test_every_family_with_its_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["inspect", str(FIXTURES / "none.so"), "--kernels"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["kernels", "of", "number", "machine", "code", "object"] in lines
    assert ["paged-v2", "6", "80", "90a", "120f"] in [line[:5] for line in lines]
    assert ["fa3", "1", "90a"] in [line[:3] for line in lines]


def test_everything_required_is_there(wheel: Path) -> None:
    assert run(["inspect", str(wheel), "--require", "paged-v2,sm_90"]) == 0


def test_json(wheel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--require", "paged-v2,sm_100", "--kernels", "--format", "json"]
    assert run(["inspect", str(wheel), *options]) == 1
    document = json.loads(capsys.readouterr().out)
    assert list(document)[:3] == ["schema", "tool", "path"]
    assert document["schema"] == "dsv4-doctor/inspection/1"
    assert document["complete"] is True
    assert "fa3" in document["searched"]
    assert [each["status"] for each in document["decisions"]] == ["present", "missing"]
    assert [each["name"] for each in document["objects"]] == ["vllm/_C.abi3.so", "vllm/plain.so"]
    assert document["objects"][0]["images"][0]["arch"] == "sm_90"


def test_json_needs_no_rich(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "dsv4_doctor.formats.inspection_text", None)
    assert run(["inspect", str(wheel), "--format", "json"]) == 0


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("text.whl", b"PK\x03\x04 and then nothing", "not a readable zip file"),
        ("notes.txt", b"hello", "neither ELF, nor a fat binary"),
        ("cut.so", (FIXTURES / "lz4.o").read_bytes()[:9000], "truncated"),
        ("empty.so", b"", "the file is empty"),
    ],
)
def test_unreadable_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert run(["inspect", str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"error: {path}: ")
    assert message in captured.err
    assert captured.err.count("\n") == 1


def test_unknown_requirement_is_said_before_anything_is_read(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["inspect", "/nowhere", "--require", "fa9"]) == 2
    assert "unknown requirement 'fa9'; known: paged-v1" in capsys.readouterr().err


def test_broken_object_in_a_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "good.so").write_bytes(library(Entry("sm_90")))
    (tmp_path / "b\x1b[31mad.so").write_bytes(library(Entry("sm_90"))[:-40])
    assert run(["inspect", str(tmp_path)]) == 2
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "ad.so: " in out
    assert run(["inspect", str(tmp_path), "--require", "sm_90"]) == 0
    assert run(["inspect", str(tmp_path), "--require", "sm_80"]) == 1
    assert "? sm_80" in capsys.readouterr().out


def test_nothing_to_see(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["inspect", str(tmp_path)]) == 0
    assert "no object file, library or program in it" in capsys.readouterr().out
