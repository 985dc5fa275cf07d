"""Finding programs on PATH, and files that may not be there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.doctor.probes.fakes import program

from dsv4_doctor.probes import files, programs

if TYPE_CHECKING:
    from pathlib import Path


def test_directories_once_without_empty_entries() -> None:
    environ = {"FIRST": "/a", "PATH": "/b::/c:/b:/a"}
    assert programs.directories(environ, "FIRST", "PATH", "UNSET") == ("/a", "/b", "/c")


def test_the_first_executable_is_found(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one/gcc").write_text("")
    (tmp_path / "two/gcc").mkdir(parents=True)
    program(tmp_path / "three/gcc", "")
    where = [f"{tmp_path}/{name}" for name in ("gone", "one", "two", "three")]
    assert programs.find("gcc", where) == f"{tmp_path}/three/gcc"
    assert programs.find("clang", where) is None


def test_a_name_with_a_slash_is_a_path(tmp_path: Path) -> None:
    path = str(program(tmp_path / "gcc", ""))
    assert programs.find(path, []) == path
    assert programs.find(f"{tmp_path}/gone", [str(tmp_path)]) is None


def test_scripts_and_binaries(tmp_path: Path) -> None:
    script = program(tmp_path / "script", "exec x")
    binary = tmp_path / "binary"
    binary.write_bytes(b"\x7fELF\x02")
    assert programs.script_text(script) == "#!/bin/sh\nexec x\n"
    assert programs.script_text(binary) is None
    assert programs.script_text(tmp_path / "gone") is None


@pytest.mark.parametrize("path", ["", "gone", "\0", "\ud800", "x" * 5000])
def test_what_cannot_be_seen_is_not_there(path: str) -> None:
    assert not files.is_directory(f"/no/such/{path}")
    assert not files.is_file(f"/no/such/{path}")
    assert not files.exists(f"/no/such/{path}")
    assert files.read(f"/no/such/{path}") is None
    assert files.names(f"/no/such/{path}") == []


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    assert files.read(tmp_path) is None
    assert not files.is_file(tmp_path)
    assert files.exists(tmp_path)


def test_reading_stops_at_the_limit(tmp_path: Path) -> None:
    (tmp_path / "long").write_bytes(b"\xff" + b"a" * 100)
    assert files.read(tmp_path / "long", 3) == "\N{REPLACEMENT CHARACTER}aa"


@pytest.mark.parametrize("name", ["\ud800", "a\0b", "/a\0b", "x" * 5000, ""])
def test_a_name_that_no_file_can_have(name: str) -> None:
    assert programs.find(name, ["/usr/bin"]) is None
