from __future__ import annotations

from pathlib import Path

import pytest

from dsv4_build import prune as module
from dsv4_build.cache import locked
from dsv4_build.prune import Places, directories, others, prune
from dsv4_build.reproduce import scratch
from dsv4_build.work import lock_of, workspace


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "cache", tmp_path / "shared", tmp_path / "memory")


def _work(places: Places, name: str) -> Path:
    root = places.cache / "work" / name
    with workspace(root, "key") as work:
        work.result.mkdir()
        (work.result / "x.whl").write_bytes(b"x" * 100_000)
    return root


def test_what_no_build_uses_is_removed_and_its_size_told(places: Places) -> None:
    used, free = _work(places, "used"), _work(places, "free")
    with workspace(used, "key"):
        pruned = prune(places)
    by_path = {each.path: each for each in pruned.found}
    assert "another process holds" in by_path[str(used)].kept
    assert by_path[str(free)].kept == ""
    assert used.is_dir()
    assert not free.exists()
    assert not lock_of(free).exists()
    assert pruned.freed == by_path[str(free)].size >= 100_000
    assert f"MiB  {free}\n" in pruned.to_text()
    assert pruned.to_json()["freed"] == pruned.freed


def test_what_is_no_work_directory_stays(places: Places, tmp_path: Path) -> None:
    (places.cache / "work" / "precious").mkdir(parents=True)
    elsewhere = Places(tmp_path / "elsewhere")
    (places.cache / "work" / "link").symlink_to(_work(elsewhere, "one"))
    assert list(directories(places)) == []
    assert prune(places).to_text() == "       0.0 MiB  freed\n"
    assert (places.cache / "work" / "link" / "result").is_dir()


def test_no_cache_at_all(places: Places) -> None:
    assert prune(places).found == ()


def test_what_waits_in_the_shared_place_is_removed_too(places: Places) -> None:
    for name in ("work", "parked/0123"):
        with workspace(places.shared / name, "key"):
            pass
    assert len(prune(places).found) == 2
    assert not (places.shared / "work").exists()


def test_what_a_killed_comparison_left_is_removed_and_one_that_runs_is_not(places: Places) -> None:
    killed = places.memory / "dsv4-doctor-killed"
    running = scratch.disk(places.cache) / "dsv4-doctor-running"
    for each in (killed, running):
        each.mkdir(parents=True)
        (each / "file").write_bytes(b"x" * 5000)
    with locked(scratch.lock_of(running)):
        pruned = prune(places)
    assert {each.path: bool(each.kept) for each in pruned.found} == {
        str(killed): False,
        str(running): True,
    }
    assert not killed.exists()
    assert running.is_dir()


def test_much_work_of_earlier_builds_is_worth_a_line(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, _ = _work(places, "mine"), _work(places, "earlier")
    assert others(places, mine) == ""
    monkeypatch.setattr(module, "_MUCH", 100_000)
    assert others(places, mine).startswith("1 earlier builds take 0.0 GiB")
    assert "--prune" in others(places, mine)
