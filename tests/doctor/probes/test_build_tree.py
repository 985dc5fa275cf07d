"""The directory that a build would run in."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_doctor.probes import build_tree
from dsv4_doctor.probes.registry import Request

if TYPE_CHECKING:
    from pathlib import Path


def checkout(root: Path) -> Path:
    for name in ("setup.py", "vllm/__init__.py", ".git/HEAD", ".git/refs/tags/v0.24.0"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    packed = (
        "# pack-refs\nabc refs/heads/main\nabc refs/tags/v0.24.0\n^def\nabc refs/tags/v0.23.0\n"
    )
    (root / ".git/packed-refs").write_text(packed)
    return root


def test_a_checkout(tmp_path: Path) -> None:
    found = build_tree.survey(checkout(tmp_path), {})
    assert (found.path, found.work_tree) == (str(tmp_path), str(tmp_path))
    assert (found.vllm, found.sdist, found.shallow, found.tags) == (True, False, False, 2)
    assert (found.owner, found.git_error) == (None, None)


def test_a_source_distribution_inside_of_another_work_tree(tmp_path: Path) -> None:
    checkout(tmp_path)
    inner = tmp_path / "third_party/flash_attn-2.5.8"
    inner.mkdir(parents=True)
    (inner / "PKG-INFO").write_text("")
    found = build_tree.survey(inner, {})
    assert (found.vllm, found.sdist, found.work_tree) == (False, True, str(tmp_path))


def test_a_shallow_clone(tmp_path: Path) -> None:
    checkout(tmp_path)
    (tmp_path / ".git/shallow").write_text("abc\n")
    assert build_tree.survey(tmp_path, {}).shallow


def test_a_linked_work_tree_has_the_tags_of_its_repository(tmp_path: Path) -> None:
    main = checkout(tmp_path / "main")
    own = main / ".git/worktrees/other"
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    other = tmp_path / "other"
    other.mkdir()
    (other / ".git").write_text(f"gitdir: {own}\n")
    assert build_tree.survey(other, {}).tags == 2


def test_the_tree_of_another_user_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    found = build_tree.survey(tmp_path, {}, user=os.geteuid() + 1)
    assert found.owner == tmp_path.stat().st_uid
    assert found.git_error is not None
    assert "git" in found.git_error


def test_no_git_at_all(tmp_path: Path) -> None:
    found = build_tree.survey(tmp_path, {})
    assert (found.work_tree, found.tags, found.vllm) == (None, 0, False)


def test_trees_of_external_projects(tmp_path: Path) -> None:
    environ = {
        "VLLM_CUTLASS_SRC_DIR": str(tmp_path),
        "FLASH_MLA_SRC_DIR": "/gone/FlashMLA",
        "QUTLASS_SRC_DIR": "",
    }
    assert build_tree.survey(tmp_path, environ).overrides == {"FLASH_MLA_SRC_DIR": "/gone/FlashMLA"}


def test_where_python_imports_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout(tmp_path)
    assert not build_tree.survey(tmp_path, {}).current
    monkeypatch.chdir(tmp_path)
    found = build_tree.survey(tmp_path, {})
    assert (found.current, found.compiled) == (True, False)
    (tmp_path / "vllm/_C_stable_libtorch.abi3.so").write_text("")
    assert build_tree.survey(tmp_path, {}).compiled


def test_the_directory_that_was_named(tmp_path: Path) -> None:
    assert build_tree.probe(Request(tree=str(tmp_path))).path == str(tmp_path)
    assert build_tree.probe(Request()).path == os.getcwd()  # noqa: PTH109 - what the shell shows


@given(st.text())
def test_any_list_of_refs(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    git = tmp_path_factory.mktemp("git")
    (git / "packed-refs").write_text(text, encoding="utf-8", errors="replace")
    assert build_tree.count_tags(git) >= 0
