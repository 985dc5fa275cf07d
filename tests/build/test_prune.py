from __future__ import annotations

from pathlib import Path

from dsv4_build.prune import directories, prune
from dsv4_build.work import lock_of, workspace


def _work(cache: Path, name: str) -> Path:
    root = cache / "work" / name
    with workspace(root, "key") as work:
        work.result.mkdir()
        (work.result / "x.whl").write_bytes(b"x" * 100_000)
    return root


def test_what_no_build_uses_is_removed_and_its_size_told(tmp_path: Path) -> None:
    used, free = _work(tmp_path, "used"), _work(tmp_path, "free")
    with workspace(used, "key"):
        pruned = prune(tmp_path, tmp_path / "shared")
    by_path = {each.path: each for each in pruned.found}
    assert "another process holds" in by_path[str(used)].kept
    assert by_path[str(free)].kept == ""
    assert used.is_dir()
    assert not free.exists()
    assert not lock_of(free).exists()
    assert pruned.freed == by_path[str(free)].size >= 100_000
    assert f"MiB  {free}\n" in pruned.to_text()
    assert pruned.to_json()["freed"] == pruned.freed


def test_what_is_no_work_directory_stays(tmp_path: Path) -> None:
    (tmp_path / "work" / "precious").mkdir(parents=True)
    (tmp_path / "work" / "link").symlink_to(_work(tmp_path / "elsewhere", "one"))
    assert list(directories(tmp_path, tmp_path / "shared")) == []
    assert prune(tmp_path, tmp_path / "shared").to_text() == "       0.0 MiB  freed\n"
    assert (tmp_path / "work" / "link" / "result").is_dir()


def test_no_cache_at_all(tmp_path: Path) -> None:
    assert prune(tmp_path / "none", tmp_path).found == ()


def test_what_waits_in_the_shared_place_is_removed_too(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    for name in ("work", "parked/0123"):
        with workspace(shared / name, "key"):
            pass
    assert len(prune(tmp_path, shared).found) == 2
    assert not (shared / "work").exists()
