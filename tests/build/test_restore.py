from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from dsv4_build.restore import restore
from dsv4_doctor.errors import BuildError


def _trees(tmp_path: Path) -> tuple[Path, Path]:
    wanted = tmp_path / "wanted"
    (wanted / "deep").mkdir(parents=True)
    (wanted / "a").write_text("a")
    (wanted / "deep" / "b").write_text("b")
    (wanted / "run").write_text("#!")
    (wanted / "run").chmod(0o755)
    (wanted / "link").symlink_to("a")
    (wanted / "to-deep").symlink_to("deep")
    for each in ("a", "deep/b", "run"):
        os.utime(wanted / each, (1000, 1000))
    tree = tmp_path / "tree"
    shutil.copytree(wanted, tree, symlinks=True)
    return wanted, tree


def _damage(tree: Path, how: str) -> str:
    """Damage a tree and return the file that is not as it was."""
    if how == "emptied":
        (tree / "a").write_bytes(b"")
    elif how == "removed":
        shutil.rmtree(tree / "deep")
        return "deep/b"
    elif how == "mode":
        (tree / "run").chmod(0o644)
        return "run"
    elif how == "other link":
        (tree / "link").unlink()
        (tree / "link").symlink_to("b")
        return "link"
    elif how == "link became file":
        (tree / "to-deep").unlink()
        (tree / "to-deep").write_text("x")
        return "to-deep"
    elif how == "file became directory":
        (tree / "a").unlink()
        (tree / "a" / "more").mkdir(parents=True)
    else:
        shutil.rmtree(tree / "deep")
        (tree / "deep").symlink_to("/usr")
        return "deep/b"
    return "a"


@pytest.mark.parametrize(
    "how",
    [
        "emptied",
        "removed",
        "mode",
        "other link",
        "link became file",
        "file became directory",
        "directory became link",
    ],
)
def test_what_is_not_as_in_the_source_is_made_so(tmp_path: Path, how: str) -> None:
    wanted, tree = _trees(tmp_path)
    changed = _damage(tree, how)
    assert restore(wanted, tree) == (changed,)
    assert restore(wanted, tree) == ()
    assert not (tree / "deep").is_symlink()


def test_a_restored_file_is_newer_and_others_keep_their_time(tmp_path: Path) -> None:
    wanted, tree = _trees(tmp_path)
    _damage(tree, "emptied")
    restore(wanted, tree)
    assert (tree / "a").stat().st_mtime > 1000
    assert (tree / "deep" / "b").stat().st_mtime == 1000


def test_what_a_build_wrote_stays(tmp_path: Path) -> None:
    wanted, tree = _trees(tmp_path)
    (tree / "build").mkdir()
    (tree / "build" / "x.o").write_text("object")
    assert restore(wanted, tree) == ()
    assert (tree / "build" / "x.o").read_text() == "object"


def test_a_link_above_the_tree_is_left_alone(tmp_path: Path) -> None:
    wanted, tree = _trees(tmp_path)
    (tmp_path / "by-link").symlink_to(tmp_path)
    _damage(tree, "emptied")
    assert restore(wanted, tmp_path / "by-link" / "tree") == ("a",)
    assert (tmp_path / "by-link").is_symlink()


def test_a_tree_that_cannot_be_written(tmp_path: Path) -> None:
    wanted, _ = _trees(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(BuildError, match="cannot be restored"):
        restore(wanted, tmp_path / "file" / "tree")
