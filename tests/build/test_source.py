from __future__ import annotations

import errno
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from tests.build.planning import vllm_tree

from dsv4_build import source
from dsv4_doctor.errors import BuildError, InputError, UsageError


def test_a_checkout_is_known_by_its_metadata(tmp_path: Path) -> None:
    found = source.identify(vllm_tree(tmp_path))
    assert (found.kind, found.version, found.epoch) == ("directory", "0.24.0", source.ZIP_EPOCH)


def test_a_checkout_without_metadata_asks_its_version_file(tmp_path: Path) -> None:
    tree = vllm_tree(tmp_path)
    (tree / "PKG-INFO").unlink()
    (tree / "vllm").mkdir()
    (tree / "vllm" / "_version.py").write_text("__version__ = version = '0.20.2'\n")
    assert source.identify(tree).version == "0.20.2"


def test_a_clone_asks_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = vllm_tree(tmp_path)
    (tree / "PKG-INFO").unlink()
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "someone")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "someone@example.org")
        monkeypatch.setenv(f"GIT_{role}_DATE", "2026-01-02T03:04:05Z")
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["commit", "-qm", "one"],
        ["tag", "v0.24.0"],
        ["commit", "-qm", "two", "--allow-empty"],
    ):
        subprocess.run(["git", "-C", str(tree), *command], check=True)
    found = source.identify(tree)
    assert found.version.startswith("0.24.0+1.g")
    assert found.epoch == 1767323045
    assert source.known_release(found.version) is None


def test_a_directory_of_something_else(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no source tree of vLLM"):
        source.identify(tmp_path)


def test_a_tree_of_another_project(tmp_path: Path) -> None:
    tree = vllm_tree(tmp_path)
    (tree / "PKG-INFO").write_text("Name: torch\nVersion: 2.11.0\n")
    with pytest.raises(InputError, match="a source tree of torch, not of vLLM"):
        source.identify(tree)


def test_a_tree_that_tells_no_version(tmp_path: Path) -> None:
    tree = vllm_tree(tmp_path)
    (tree / "PKG-INFO").unlink()
    with pytest.raises(InputError, match="its version is not known"):
        source.identify(tree)


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        source.identify(tmp_path / "absent")


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("0.24.0", "0.24.0"),
        ("0.24.0+cu130", "0.24.0"),
        ("0.24.0+1.g0123abc", None),
        ("0.24.1.dev5+g0123abc", None),
        ("99.0", None),
    ],
)
def test_which_trees_are_a_known_release(version: str, release: str | None) -> None:
    assert source.known_release(version) == release


def test_a_version_that_is_none() -> None:
    with pytest.raises(UsageError, match="'none', which is none"):
        source.known_release("none")


def test_the_digest_is_of_names_kinds_and_contents(tmp_path: Path) -> None:
    tree = vllm_tree(tmp_path)
    before = source.digest(tree)
    (tree / "build" / "temp").mkdir(parents=True)
    (tree / "build" / "temp" / "object.o").touch()
    (tree / "vllm" / "__pycache__").mkdir(parents=True)
    (tree / "vllm" / "__pycache__" / "x.pyc").touch()
    assert source.digest(tree) == before
    (tree / "setup.py").chmod(0o755)
    program = source.digest(tree)
    (tree / "link").symlink_to("setup.py")
    linked = source.digest(tree)
    (tree / "requirements" / "build").mkdir(parents=True)
    (tree / "requirements" / "build" / "cuda.txt").touch()
    deeper = source.digest(tree)
    assert len({before, program, linked, deeper}) == 4


def test_the_copy_is_the_source_and_nothing_else(tmp_path: Path) -> None:
    tree = vllm_tree(tmp_path)
    (tree / "build").mkdir()
    (tree / "requirements" / "build").mkdir(parents=True)
    (tree / "requirements" / "build" / "cuda.txt").touch()
    (tree / "link").symlink_to("setup.py")
    found = source.identify(tree)
    source.copy(found, tmp_path / "copy")
    assert source.digest(tmp_path / "copy") == found.digest
    assert not (tmp_path / "copy" / "build").exists()
    assert (tmp_path / "copy" / "requirements" / "build" / "cuda.txt").is_file()
    assert os.readlink(tmp_path / "copy" / "link") == "setup.py"  # noqa: PTH115


def test_the_embedded_tree_is_copied_too(tmp_path: Path) -> None:
    found = source.embedded("smoke")
    source.copy(found, tmp_path / "copy")
    assert source.digest(tmp_path / "copy") == found.digest
    assert (tmp_path / "copy" / "csrc" / "attention" / "paged_attention_v2.cu").is_file()


class _Full:
    """A file that a disk has no room for."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __call__(self, *_: object, **__: object) -> None:
        raise OSError(self._number, os.strerror(self._number))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_no_fault_of_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    with tarfile.open(tmp_path / "vllm-0.24.0.tar.gz", "w:gz") as archive:
        archive.add(vllm_tree(tmp_path), "vllm-0.24.0")
    wanted = source.identify(tmp_path / "vllm-0.24.0.tar.gz")
    monkeypatch.setattr("dsv4_build.sdist._extract", _Full(number))
    with pytest.raises(BuildError, match="no space left") as caught:
        source.copy(wanted, tmp_path / "copy")
    assert "--work-dir" in caught.value.hint
    monkeypatch.undo()
    monkeypatch.setattr(shutil, "copyfile", _Full(number))
    with pytest.raises(BuildError, match="no space left"):
        source.copy(source.embedded("smoke"), tmp_path / "smoke")
