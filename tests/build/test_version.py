from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet
from packaging.utils import parse_wheel_filename
from packaging.version import Version
from tests.build import planning

from dsv4_build import version
from dsv4_build.source import known_release
from dsv4_build.tree import Tree, open_tree
from dsv4_doctor.arch import Arch
from dsv4_doctor.errors import UsageError

HOPPER = (Arch.parse("sm_90"),)


def _tree(tmp_path: Path, name: str) -> Tree:
    return open_tree(planning.vllm_request(planning.vllm_tree(tmp_path, name)))


def test_a_release_gets_cuda_and_every_architecture(tmp_path: Path) -> None:
    archs = tuple(map(Arch.parse, ("sm_90", "sm_80", "sm_120")))
    made = version.given(_tree(tmp_path, "0.24.0"), "13.0.88", archs)
    assert made == "0.24.0+cu130.sm80.sm90.sm120"


def test_the_embedded_tree_gets_them_too(tmp_path: Path) -> None:
    made = version.given(open_tree(planning.request()), "12.9.86", HOPPER)
    assert made == "1.0.0+cu129.sm90"


def test_commits_after_a_tag_keep_their_own_label(tmp_path: Path) -> None:
    tree = _tree(tmp_path, "0.24.0")
    ahead = replace(tree, source=replace(tree.source, version="0.24.1.dev3+gabcdef012"))
    assert version.given(ahead, "13.0.88", HOPPER) == "0.24.1.dev3+gabcdef012.cu130.sm90"


def test_a_release_that_adds_its_own_cuda_tag_is_not_given_a_second(tmp_path: Path) -> None:
    tree = _tree(tmp_path, "0.7.2")
    assert version.given(tree, "12.4.131", HOPPER) == "0.7.2+sm90"
    assert version.expected(tree, "12.4.131", HOPPER) == "0.7.2+sm90.cu124"
    assert version.given(tree, "12.1.105", HOPPER) == "0.7.2+cu121.sm90"
    assert version.expected(tree, "12.1.105", HOPPER) == "0.7.2+cu121.sm90"


def test_one_that_takes_the_version_as_it_is_adds_nothing(tmp_path: Path) -> None:
    tree = _tree(tmp_path, "0.24.0")
    assert version.expected(tree, "12.9.86", HOPPER) == "0.24.0+cu129.sm90"


def test_what_packaging_and_pip_make_of_it(tmp_path: Path) -> None:
    made = Version(version.given(_tree(tmp_path, "0.24.0"), "13.0.88", HOPPER))
    assert str(made) == "0.24.0+cu130.sm90"
    assert made in SpecifierSet("==0.24.0")
    assert made in SpecifierSet("==0.24.0+cu130.sm90")
    assert made not in SpecifierSet("==0.24.0+cu129.sm90")
    assert made not in SpecifierSet(">0.24.0")
    name, found, _, _ = parse_wheel_filename(f"vllm-{made}-cp38-abi3-linux_x86_64.whl")
    assert (name, found) == ("vllm", made)


def test_the_doctor_still_knows_which_release_it_is() -> None:
    assert known_release("0.24.0+cu130.sm90") == "0.24.0"


def test_a_tree_whose_version_is_none_is_refused(tmp_path: Path) -> None:
    tree = _tree(tmp_path, "0.24.0")
    with pytest.raises(UsageError, match="which is none"):
        version.given(replace(tree, source=replace(tree.source, version="main")), "13.0.88", HOPPER)
