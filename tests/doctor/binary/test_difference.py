"""What differs between two wheels, directories or files."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.binary.builders import (
    PTX,
    Entry,
    Part,
    Wheel,
    container,
    cubin,
    elf,
    kernels,
    library,
    memory,
)

from dsv4_doctor.binary import byte_ranges
from dsv4_doctor.binary.byte_ranges import Range, common_prefix, first_difference
from dsv4_doctor.binary.difference import compare
from dsv4_doctor.cli.main import run
from dsv4_doctor.errors import InputError


def wheels(folder: Path, old: dict[str, bytes], new: dict[str, bytes]) -> tuple[Path, Path]:
    paths = folder / "old.whl", folder / "new.whl"
    for path, members in zip(paths, (old, new), strict=True):
        path.write_bytes(Wheel(members=members).data())
    return paths


def test_files_that_came_went_and_changed(tmp_path: Path) -> None:
    old = {"a.py": b"x = 1\n", "gone.py": b"", "same.so": elf()}
    new = {"a.py": b"x = 22\n", "came.so": library(Entry("sm_90a")), "same.so": elf()}
    found = compare(*wheels(tmp_path, old, new))
    assert found.same == 1
    changed, came, gone = found.files
    assert (changed.name, changed.change, changed.before, changed.after) == (
        "a.py",
        "changed",
        6,
        7,
    )
    assert changed.first == Range(4, 6, "line 1")
    assert (came.name, came.change, came.archs_added) == ("came.so", "added", ("sm_90a",))
    assert (gone.name, gone.change, gone.before, gone.after) == ("gone.py", "removed", 0, None)


def test_where_in_an_object_it_differs(tmp_path: Path) -> None:
    def made(last: bytes, note: bytes = b"note") -> bytes:
        images = container(Entry("sm_80"), Entry("sm_90", kind=PTX, payload=b"x" * 15 + last))
        return elf(Part(".note", note), Part(".nv_fatbin", images), Part(".text", b"code"))

    (tmp_path / "a.so").write_bytes(made(b"x"))
    (tmp_path / "b.so").write_bytes(made(b"y"))
    (found,) = compare(tmp_path / "a.so", tmp_path / "b.so").files
    assert found.name == ""
    assert found.first is not None
    assert (found.first.section, found.first.image) == (".nv_fatbin", "compute_90")
    assert found.first.end == found.first.start + 1
    (tmp_path / "b.so").write_bytes(made(b"x", b"tone"))
    (found,) = compare(tmp_path / "a.so", tmp_path / "b.so").files
    assert found.first == Range(64, 65, ".note")
    (tmp_path / "b.so").write_bytes(made(b"x") + b"more")
    (found,) = compare(tmp_path / "a.so", tmp_path / "b.so").files
    assert found.first is None


def test_code_and_kernels(tmp_path: Path) -> None:
    old = {"_C.so": library(kernels("sm_80", "f", "g"), Entry("sm_80", kind=PTX))}
    new = {"_C.so": library(kernels("sm_80", "f"), kernels("sm_90a", "g"))}
    paths = wheels(tmp_path, old, new)
    (found,) = compare(*paths).files
    assert (found.archs_added, found.archs_removed) == (("sm_90a",), ("compute_80",))
    assert (found.kernels_added, found.kernels_removed) == ((), ())
    (found,) = compare(*paths, kernels=True).files
    assert (found.kernels_added, found.kernels_removed) == (("sm_90a g",), ("sm_80 g",))


def test_the_same_files_in_archives_that_differ(tmp_path: Path) -> None:
    members = {"a.so": library(Entry()), "empty": b""}
    stored = Wheel(zipfile.ZIP_STORED, dict(reversed(members.items())))
    (tmp_path / "old.whl").write_bytes(stored.data())
    (tmp_path / "new.whl").write_bytes(Wheel(members=members).data())
    found = compare(tmp_path / "old.whl", tmp_path / "new.whl")
    assert (found.files, found.same) == ((), 2)
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()
    for name, data in members.items():
        (unpacked / name).write_bytes(data)
    assert compare(tmp_path / "old.whl", unpacked).files == ()


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    old = {"a.so": library(Entry("sm_80", payload=b"garbage!")), "b.so": library(Entry())[:-70]}
    new = {"a.so": library(Entry("sm_80", payload=cubin("f"))), "b.so": library(Entry())}
    for found in compare(*wheels(tmp_path, old, new), kernels=True).files:
        assert found.unread
    with pytest.raises(InputError, match="No such file"):
        compare(tmp_path / "gone.whl", tmp_path / "old.whl")
    damaged = bytearray((tmp_path / "old.whl").read_bytes())
    damaged[40:60] = b"\xff" * 20
    (tmp_path / "old.whl").write_bytes(damaged)
    first = compare(tmp_path / "old.whl", tmp_path / "new.whl").files[0]
    assert first.unread


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = {"_C.so": library(kernels("sm_80", *"abcdefg")), "x": b"1"}
    new = {"_C.so": library(kernels("sm_90a", "z" * 200)), "x": b"1"}
    before, after = map(str, wheels(tmp_path, old, new))
    assert run(["inspect", "--diff", before, after, "--kernels"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{before} -> {after}"
    assert lines[1].startswith("~ _C.so  1.")
    assert "    code added: sm_90a" in lines
    assert "      and 2 more" in lines
    assert lines[-1] == "0 added, 0 removed, 1 changed, 1 the same"
    assert run(["inspect", "--diff", before, after, "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "dsv4-doctor/inspection-diff/1"
    assert document["files"][0]["first"]["section"] in {"headers", ".nv_fatbin"}
    assert run(["inspect", "--diff", before, before, "--format", "markdown"]) == 0
    assert "every file is the same" in capsys.readouterr().out


@given(st.binary(max_size=300), st.binary(max_size=300), st.integers(1, 64))
def test_the_first_difference_is_the_first(one: bytes, other: bytes, block: int) -> None:
    size = min(len(one), len(other))
    expected = next((at for at in range(size) if one[at] != other[at]), None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(byte_ranges, "_BLOCK", block)
        found = first_difference(memory(one), memory(other), size)
    assert (found and found.start) == expected
    assert common_prefix(one, other) == (size if expected is None else expected)
    if found is not None:
        assert all(one[at] != other[at] for at in range(found.start, found.end))
