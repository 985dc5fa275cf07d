"""A release, an sdist or a checkout, as a command line names it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.doctor.knowledge.extract import trees

from dsv4_doctor.cli.target import resolve
from dsv4_doctor.errors import InputError, UsageError
from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.named import named


def test_a_release_by_name() -> None:
    assert named("v0.24.0") == (load.release("0.24.0"), ())


def test_a_directory_of_a_releases_name_does_not_stand_in_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trees.directory(tmp_path / "0.24.0")
    monkeypatch.chdir(tmp_path)
    assert named("0.24.0")[1] == ()
    assert "was read from" in named("./0.24.0")[1][0]


def test_a_tree_is_read_and_what_it_does_not_say_is_noted(tmp_path: Path) -> None:
    release, notes = named(str(trees.sdist(tmp_path / "vllm-0.24.0.tar.gz")))
    assert release.name == "0.24.0"
    assert release.has("machete")
    assert any("not established in this tree: fa3: compute_majors" in each for each in notes)


@pytest.mark.parametrize("text", ["./vllm-0.15.0.tar.gz", "vllm-0.15.0.tar.gz", "/nowhere/vllm"])
def test_a_path_that_is_not_there(text: str) -> None:
    with pytest.raises(InputError, match="no such file") as raised:
        named(text)
    assert "dsv4-doctor releases" in raised.value.hint


def test_a_release_that_nobody_knows() -> None:
    with pytest.raises(UsageError, match=r"'0\.15\.0'; the nearest known: 0\.16\.0, 0\.14\.1"):
        named("0.15.0")


def test_a_target_of_a_tree(tmp_path: Path) -> None:
    path = trees.directory(tmp_path, **{"PKG-INFO": "Name: vllm\nVersion: 0.99.0.dev1\n\n"})
    found = resolve(purpose="build", vllm=str(path), features=["fa3"])
    assert found.target.release == "0.99.0.dev1"
    assert found.notes[0].startswith("what vLLM 0.99.0.dev1 needs was read from ")
