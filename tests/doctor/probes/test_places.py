"""Where a build and a server write, by the rules of the programs that write there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dsv4_doctor.facts.resources import Place
from dsv4_doctor.probes import places

if TYPE_CHECKING:
    from pathlib import Path


def survey(root: Path, **environ: str) -> dict[str, Place]:
    found = places.survey({"HOME": f"{root}/home", **environ}, str(root), root)
    return {each.role: each for each in found}


@pytest.mark.parametrize(
    ("role", "variables", "path", "by"),
    [
        ("temporary", {}, "/tmp", ""),
        ("temporary", {"TMPDIR": "/scratch"}, "/scratch", "TMPDIR"),
        ("model", {}, "HOME/.cache/huggingface/hub", ""),
        ("model", {"HF_HOME": "/hf"}, "/hf/hub", "HF_HOME"),
        ("model", {"HF_HOME": "/hf", "HF_HUB_CACHE": "/hub"}, "/hub", "HF_HUB_CACHE"),
        ("model", {"XDG_CACHE_HOME": "/xdg"}, "/xdg/huggingface/hub", ""),
        ("cache of vLLM", {}, "HOME/.cache/vllm", ""),
        ("cache of vLLM", {"VLLM_CACHE_ROOT": "/v"}, "/v", "VLLM_CACHE_ROOT"),
        ("cache of Triton", {}, "HOME/.triton/cache", ""),
        ("cache of Triton", {"TRITON_CACHE_DIR": "/t"}, "/t", "TRITON_CACHE_DIR"),
        (
            "cache of FlashInfer",
            {"FLASHINFER_WORKSPACE_BASE": "/f"},
            "/f/.cache/flashinfer",
            "FLASHINFER_WORKSPACE_BASE",
        ),
        ("cache of DeepGEMM", {"VLLM_CACHE_ROOT": "/v"}, "/v/deep_gemm", "VLLM_CACHE_ROOT"),
        ("cache of DeepGEMM", {"DG_JIT_CACHE_DIR": "/d"}, "/d", "DG_JIT_CACHE_DIR"),
    ],
)
def test_who_names_a_place(
    tmp_path: Path, role: str, variables: dict[str, str], path: str, by: str
) -> None:
    found = survey(tmp_path, **variables)[role]
    assert found.path == path.replace("HOME", f"{tmp_path}/home")
    assert found.chosen_by == by


def test_the_model_that_is_asked_for(tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    environ = {"HOME": str(tmp_path), "HF_HOME": "/hf"}
    for asked, path, by in (
        (str(model), str(model), "--model"),
        ("deepseek-ai/DeepSeek-V4", "/hf/hub", "HF_HOME"),
        (None, "/hf/hub", "HF_HOME"),
    ):
        found = places.survey(environ, str(tmp_path), tmp_path, asked)
        [place] = [each for each in found if each.role == "model"]
        assert (place.path, place.chosen_by) == (path, by)


def test_the_file_system_of_a_directory_that_is_not_there_yet(tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text(
        "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
        f"2 1 0:9 / {tmp_path} rw,noexec - nfs4 server:/export rw\n"
    )
    found = survey(tmp_path)["cache of vLLM"]
    assert (found.mount, found.filesystem, found.executable) == (str(tmp_path), "nfs4", False)
    assert found.disk is not None
    assert found.disk.kind == "network"
    assert (found.free or 0) <= (found.size or 0)
    assert found.files_free is None or found.files_free >= 0
    assert survey(tmp_path)["temporary"].executable


def test_a_file_system_that_is_read_only(tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text(f"1 0 8:1 / {tmp_path} ro - ext4 /dev/sda1 rw\n")
    assert not survey(tmp_path)["build"].writable
    assert survey(tmp_path, TMPDIR="/tmp")["temporary"].filesystem == ""


def test_without_a_table_nothing_is_claimed(tmp_path: Path) -> None:
    found = survey(tmp_path)["build"]
    assert (found.mount, found.filesystem, found.disk) == ("", "", None)
    assert found.executable
    assert found.writable
