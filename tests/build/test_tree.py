"""What holds for a vLLM tree: a known release's requirements, or its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.build.planning import vllm_request, vllm_tree
from tests.doctor.knowledge.extract import trees

from dsv4_build.tree import open_tree
from dsv4_doctor.errors import InputError
from dsv4_doctor.knowledge import load

NEWER = {"PKG-INFO": "Metadata-Version: 2.1\nName: vllm\nVersion: 0.99.0.dev3+g0123456\n\n"}


def test_a_known_release_has_the_known_requirements(tmp_path: Path) -> None:
    tree = open_tree(vllm_request(vllm_tree(tmp_path)))
    assert tree.release == load.release("0.24.0")
    assert tree.notes == ()


@pytest.mark.parametrize("packed", [True, False])
def test_a_tree_that_nobody_knows_says_itself_what_it_needs(tmp_path: Path, packed: bool) -> None:
    path = (
        trees.sdist(tmp_path / "vllm.tar.gz", **NEWER)
        if packed
        else trees.directory(tmp_path / "vllm", **NEWER)
    )
    tree = open_tree(vllm_request(path))
    assert tree.release is not None
    assert tree.release.name == "0.99.0.dev3+g0123456"
    assert tree.components[-1] == "_C"
    assert {each.name for each in tree.projects} == {"cutlass", "deepgemm", "vllm-flash-attn"}
    assert tree.notes[0].endswith(f"was read from {path}")


def test_a_tree_that_nobody_knows_and_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no source tree of vLLM"):
        open_tree(vllm_request(vllm_tree(tmp_path, "0.99.0")))


def test_another_sdist_of_a_known_release_is_named_as_such(tmp_path: Path) -> None:
    tree = open_tree(vllm_request(trees.sdist(tmp_path / "vllm.tar.gz")))
    assert tree.release == load.release("0.24.0")
    assert "its SHA-256 differs" in tree.notes[0]
