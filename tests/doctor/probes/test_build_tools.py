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
    assert [each.name for each in found] == list(build_tools.NAMES)
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


@pytest.mark.parametrize("body", ["exit 1", "echo 1.2 && exit 1", "echo no version"])
def test_one_that_does_not_tell(tmp_path: Path, body: str) -> None:
    path = program(tmp_path / "bin/git", body)
    assert survey(tmp_path)["git"] == BuildTool("git", str(path), None)


def test_one_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(argv: list[str]) -> process.Completed:
        msg = f"{argv[0]}: no answer within 4 s"
        raise process.ProcessError(msg)

    monkeypatch.setattr(process, "run", hang)
    path = program(tmp_path / "bin/ccache", "")
    assert survey(tmp_path)["ccache"] == BuildTool("ccache", str(path), None)


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
