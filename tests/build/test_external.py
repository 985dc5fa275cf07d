from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.build.planning import vllm_tree

from dsv4_build import external
from dsv4_build.git_mirror import environment
from dsv4_doctor.errors import BuildError, InputError
from dsv4_doctor.knowledge import load

PROJECTS = {each.name: each for each in load.release("0.24.0").external_projects}


def test_a_stub_declares_the_targets_and_fetches_nothing(tmp_path: Path) -> None:
    tree = vllm_tree(tmp_path)
    external.leave_out(tree, [PROJECTS["flashmla"]])
    text = (tree / PROJECTS["flashmla"].cmake).read_text()
    assert "add_custom_target(_flashmla_C)" in text
    assert "add_custom_target(_flashmla_extension_C)" in text
    assert "FetchContent" not in text
    assert "fetch deepgemm" in (tree / PROJECTS["deepgemm"].cmake).read_text()


def test_a_tree_of_another_layout_is_not_cut_blindly(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"no cmake/external_projects/flashmla\.cmake"):
        external.leave_out(tmp_path, [PROJECTS["flashmla"]])


def test_the_top_of_the_tree_is_never_replaced(tmp_path: Path) -> None:
    tree = vllm_tree(tmp_path)
    with pytest.raises(BuildError, match="cutlass cannot be left out"):
        external.leave_out(tree, [PROJECTS["cutlass"]])


def _repository(mirror: Path, name: str) -> None:
    bare = mirror / f"{name}.git"
    bare.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", "--bare", str(bare)], check=True)


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/nvidia/cutlass.git",
        "https://github.com/NVIDIA/cutlass.git",
        "https://github.com/NVIDIA/cutlass",
        "https://github.com/vllm-project/FlashMLA",
    ],
)
def test_git_goes_to_the_mirror_for_every_spelling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    _repository(tmp_path, "NVIDIA/cutlass")
    _repository(tmp_path, "vllm-project/FlashMLA")
    urls = [project.repository for project in PROJECTS.values()]
    for name, value in environment(tmp_path, urls, {}).items():
        monkeypatch.setenv(name, value)
    done = subprocess.run(["git", "ls-remote", url], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_configuration_of_the_caller_is_kept(tmp_path: Path) -> None:
    _repository(tmp_path, "fmtlib/fmt")
    made = environment(tmp_path, [], {"GIT_CONFIG_COUNT": "2"})
    assert "GIT_CONFIG_KEY_1" not in made
    assert "GIT_CONFIG_KEY_2" in made
    keys = sum(name.startswith("GIT_CONFIG_KEY_") for name in made)
    assert made["GIT_CONFIG_COUNT"] == str(2 + keys)


def test_a_directory_without_repositories(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no OWNER/NAME\.git"):
        environment(tmp_path, [], {})
