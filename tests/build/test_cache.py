from __future__ import annotations

from pathlib import Path

import pytest

from dsv4_build.cache import cache_root, locked
from dsv4_doctor.errors import BuildError, UsageError


def test_the_variable_of_the_specification_decides() -> None:
    assert cache_root({"XDG_CACHE_HOME": "/var/cache"}) == Path("/var/cache/dsv4-doctor")


def test_a_relative_path_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    assert cache_root({"XDG_CACHE_HOME": "cache"}) == Path("/home/someone/.cache/dsv4-doctor")


def test_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError

    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(UsageError, match="no home") as caught:
        cache_root({})
    assert "XDG_CACHE_HOME" in caught.value.hint


def test_a_second_holder_is_refused(tmp_path: Path) -> None:
    lock = tmp_path / "deep" / "lock"
    with locked(lock), pytest.raises(BuildError, match="another process holds"), locked(lock):
        pass
    with locked(lock):
        pass


def test_a_lock_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BuildError, match="cannot be locked"), locked(tmp_path / "file" / "lock"):
        pass
