from __future__ import annotations

from pathlib import Path

import pytest

from dsv4_build.cache import locked
from dsv4_build.reproduce import scratch
from dsv4_doctor.errors import BuildError


def test_a_directory_is_held_and_then_gone(tmp_path: Path) -> None:
    with scratch.temporary(scratch.far(tmp_path)) as place:
        assert list(scratch.left(tmp_path, tmp_path / "memory")) == [place]
        with pytest.raises(BuildError, match="another process"), locked(scratch.lock_of(place)):
            pass
    assert list(scratch.left(tmp_path, tmp_path / "memory")) == []
    assert list(scratch.far(tmp_path).iterdir()) == []


def test_results_that_differ_are_found_again(tmp_path: Path) -> None:
    scratch.differing(tmp_path).mkdir(parents=True)
    (tmp_path / "memory" / "of-somebody").mkdir(parents=True)
    (tmp_path / "memory" / "dsv4-doctor-x").mkdir()
    found = set(scratch.left(tmp_path, tmp_path / "memory"))
    assert found == {scratch.differing(tmp_path), tmp_path / "memory" / "dsv4-doctor-x"}


def test_a_place_in_memory_that_is_not_there_has_no_room(tmp_path: Path) -> None:
    assert not scratch.roomy(tmp_path / "none")
