from __future__ import annotations

import json
from pathlib import Path

import pytest

from dsv4_build.plan import Step
from dsv4_build.process import Usage
from dsv4_build.work import JOURNAL, workspace
from dsv4_doctor.errors import BuildError, UsageError

STEP = Step("compile", "all of it", "0123")


def _journal(root: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (root / JOURNAL).read_text().splitlines()]


def test_every_step_is_in_the_journal_however_it_ends(tmp_path: Path) -> None:
    root = tmp_path / "work"
    with workspace(root) as work:
        with work.step(STEP, [Usage(1.0, 2.0, 3)]):
            pass
        with pytest.raises(BuildError), work.step(STEP, []):
            raise BuildError("broken")  # noqa: EM101
        with pytest.raises(KeyboardInterrupt), work.step(STEP, []):
            raise KeyboardInterrupt
    entries = _journal(root)
    assert [entry["outcome"] for entry in entries] == ["done", "failed", "interrupted"]
    assert entries[0]["usage"] == [{"seconds": 1.0, "cpu_seconds": 2.0, "peak_memory": 3}]
    assert entries[1]["detail"] == "broken"
    assert all(entry["key"] == "0123" for entry in entries)


def test_what_an_earlier_build_left_is_removed(tmp_path: Path) -> None:
    root = tmp_path / "work"
    with workspace(root) as work:
        work.source.mkdir()
    with workspace(root):
        assert not (root / "source").exists()


def test_a_directory_of_somebody_else_is_not_emptied(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("data")
    with pytest.raises(UsageError, match="is not empty"), workspace(tmp_path):
        pass
    assert (tmp_path / "precious").read_text() == "data"


def test_two_builds_do_not_share_a_directory(tmp_path: Path) -> None:
    root = tmp_path / "work"
    with workspace(root), pytest.raises(BuildError, match="another process"), workspace(root):
        pass


def test_a_place_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BuildError), workspace(tmp_path / "file" / "work"):
        pass
