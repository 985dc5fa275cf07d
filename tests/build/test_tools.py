from __future__ import annotations

from pathlib import Path

import pytest

from dsv4_build.tools import Wanted, find
from dsv4_doctor.errors import BuildError
from dsv4_doctor.facts.build_tools import BuildTool

CMAKE = Wanted("cmake", "3.26.1")


def _program(directory: Path, version: str) -> Path:
    directory.mkdir(exist_ok=True)
    path = directory / "cmake"
    path.write_text(f"#!/bin/sh\necho cmake version {version}\n")
    path.chmod(0o755)
    return directory


def test_the_machines_own_is_taken_when_it_fits(tmp_path: Path) -> None:
    own = BuildTool("cmake", "/usr/bin/cmake", "4.1.0")
    assert find(CMAKE, [own], [_program(tmp_path / "scripts", "4.4.5")]) is own


def test_an_old_one_is_replaced_by_the_doctors(tmp_path: Path) -> None:
    old = BuildTool("cmake", "/usr/bin/cmake", "3.25.1")
    found = find(CMAKE, [old], [_program(tmp_path / "scripts", "4.4.5")])
    assert (found.path, found.version) == (str(tmp_path / "scripts" / "cmake"), "4.4.5")


def test_none_that_fits_says_what_was_found(tmp_path: Path) -> None:
    old = BuildTool("cmake", "/usr/bin/cmake", "3.25.1")
    with pytest.raises(BuildError, match=r"/usr/bin/cmake is 3\.25\.1") as caught:
        find(CMAKE, [old, BuildTool("ninja", "/usr/bin/ninja", "1.11")], [tmp_path])
    assert "pip install 'cmake>=3.26.1'" in caught.value.hint


def test_a_program_that_does_not_answer_does_not_fit(tmp_path: Path) -> None:
    directory = _program(tmp_path / "scripts", "no number")
    with pytest.raises(BuildError, match="of unknown version"):
        find(CMAKE, [], [directory])


def test_without_a_minimum_any_version_does() -> None:
    tool = BuildTool("ninja", "/usr/bin/ninja", None)
    assert find(Wanted("ninja"), [tool], []) is tool
