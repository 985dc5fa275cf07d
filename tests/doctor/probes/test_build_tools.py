"""The tools of a build: beside the interpreter first, then on PATH, with their versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.probes.fakes import program

from dsv4_doctor import process
from dsv4_doctor.facts.build_tools import BuildTool
from dsv4_doctor.probes import build_tools

if TYPE_CHECKING:
    from pathlib import Path


def survey(tmp_path: Path, python: str | None = None) -> dict[str, BuildTool]:
    found = build_tools.survey({"PATH": f"{tmp_path}/bin"}, python or "/no/such/python")
    assert [each.name for each in found] == [*build_tools.NAMES, *build_tools.UNASKED]
    return {each.name: each for each in found}


def test_found_and_missing_ones(tmp_path: Path) -> None:
    make = program(tmp_path / "bin/make", 'test "$1" = --version && echo "GNU Make 4.3"')
    found = survey(tmp_path)
    assert found["make"] == BuildTool("make", str(make), "4.3")
    assert found["ninja"] == BuildTool("ninja", None, None)


def test_the_one_beside_the_interpreter_comes_first(tmp_path: Path) -> None:
    python = program(tmp_path / "venv/bin/python", "exit 1")
    own = program(tmp_path / "venv/bin/ninja", "echo 1.13.0.git.kitware.jobserver-pipe-1")
    program(tmp_path / "bin/ninja", "echo 1.10.1")
    assert survey(tmp_path, str(python))["ninja"] == BuildTool("ninja", str(own), "1.13.0")


def test_the_program_behind_a_wheels_script_is_asked(tmp_path: Path) -> None:
    script = program(tmp_path / "bin/cmake", "exit 1")
    data = tmp_path / "lib/python3.12/site-packages/cmake/data/bin/cmake"
    program(data, "echo cmake version 4.1.2")
    assert survey(tmp_path)["cmake"] == BuildTool("cmake", str(script), "4.1.2")


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("exit 1", "exit status 1"),
        ("echo 1.2 && exit 1", "exit status 1"),
        ("echo broken >&2; exit 3", "exit status 3: broken"),
        ("echo no version", None),
        ("echo no version; echo a warning >&2", None),
    ],
)
def test_one_that_does_not_tell(tmp_path: Path, body: str, error: str | None) -> None:
    path = program(tmp_path / "bin/git", body)
    assert survey(tmp_path)["git"] == BuildTool("git", str(path), None, error)


def test_a_cmake_without_its_modules_tells_its_version_and_its_error(tmp_path: Path) -> None:
    said = "CMake Error: Could not find CMAKE_ROOT !!!"
    path = program(tmp_path / "bin/cmake", f"echo '{said}' >&2; echo cmake version 3.31.0")
    assert survey(tmp_path)["cmake"] == BuildTool("cmake", str(path), "3.31.0", said)


def test_cargo_is_found_where_rustup_puts_it_and_is_not_started(tmp_path: Path) -> None:
    path = program(tmp_path / "home/.cargo/bin/cargo", f"touch {tmp_path}/started")
    environ = {"PATH": str(tmp_path), "HOME": f"{tmp_path}/home"}
    found = {each.name: each for each in build_tools.survey(environ, "/no/such/python")}
    assert found["cargo"] == BuildTool("cargo", str(path), None)
    assert not (tmp_path / "started").exists()


def test_one_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(argv: list[str]) -> process.Completed:
        msg = f"{argv[0]}: no answer within 4 s"
        raise process.ProcessError(msg)

    monkeypatch.setattr(process, "run", hang)
    path = program(tmp_path / "bin/ccache", "")
    found = survey(tmp_path)["ccache"]
    assert found == BuildTool("ccache", str(path), None, f"{path}: no answer within 4 s")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cmake version 4.1.0\n\nCMake suite maintained", "4.1.0"),
        ("git version 2.39.5", "2.39.5"),
        ("ccache version 4.7.5", "4.7.5"),
        ("", None),
    ],
)
def test_versions(text: str, expected: str | None) -> None:
    assert build_tools.parse_version(text) == expected


@given(st.text())
def test_any_text_as_version(text: str) -> None:
    build_tools.parse_version(text)
