"""The rules by which torch and CMake find a toolkit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.probes.fakes import fake_nvcc, program

from dsv4_doctor.probes import toolkit_rules

if TYPE_CHECKING:
    from pathlib import Path

NOWHERE = "/no/such/place"


def cmake(environ: dict[str, str], *prefixes: str) -> str | None:
    return toolkit_rules.cmake_root(environ, prefixes=prefixes, last=NOWHERE)


def test_torch_takes_the_variables_in_order() -> None:
    both = {"CUDA_HOME": "/a", "CUDA_PATH": "/b", "PATH": ""}
    assert toolkit_rules.torch_root(both, default=NOWHERE) == "/a"
    assert toolkit_rules.torch_root({"CUDA_PATH": "/b"}, default=NOWHERE) == "/b"
    assert toolkit_rules.torch_root({"CUDA_HOME": "", "CUDA_PATH": "/b"}, default=NOWHERE) == "/b"


def test_torch_takes_a_variable_that_leads_nowhere() -> None:
    assert toolkit_rules.torch_root({"CUDA_HOME": NOWHERE}, default="/") == NOWHERE


def test_torch_takes_two_above_the_first_nvcc(tmp_path: Path) -> None:
    fake_nvcc(tmp_path / "cuda-12.4")
    link = tmp_path / "bin"
    link.mkdir()
    (link / "nvcc").symlink_to(tmp_path / "cuda-12.4/bin/nvcc")
    environ = {"PATH": f"/none::{link}:{tmp_path}/cuda-12.4/bin"}
    assert toolkit_rules.torch_root(environ, default=NOWHERE) == str(tmp_path)


def test_torch_takes_the_usual_directory_last(tmp_path: Path) -> None:
    assert toolkit_rules.torch_root({"PATH": ""}, default=str(tmp_path)) == str(tmp_path)
    assert toolkit_rules.torch_root({"PATH": ""}, default=NOWHERE) is None


def test_an_empty_cuda_path_stops_torch(tmp_path: Path) -> None:
    assert toolkit_rules.torch_root({"CUDA_PATH": ""}, default=str(tmp_path)) is None


def test_cmake_never_reads_cuda_home(tmp_path: Path) -> None:
    fake_nvcc(tmp_path / "home")
    fake_nvcc(tmp_path / "path")
    environ = {"CUDA_HOME": f"{tmp_path}/home", "PATH": f"{tmp_path}/path/bin"}
    assert cmake(environ) == f"{tmp_path}/path"
    assert cmake({"CUDA_HOME": f"{tmp_path}/home", "PATH": ""}) is None


@pytest.mark.parametrize("name", ["CUDA_TOOLKIT_ROOT", "CUDA_PATH", "CUDA_BIN_PATH"])
@pytest.mark.parametrize("below", ["", "/bin"])
def test_cmakes_own_variables_beat_path(tmp_path: Path, name: str, below: str) -> None:
    fake_nvcc(tmp_path / "own")
    fake_nvcc(tmp_path / "path")
    environ = {name: f"{tmp_path}/own{below}", "PATH": f"{tmp_path}/path/bin"}
    assert cmake(environ) == f"{tmp_path}/own"


@pytest.mark.parametrize(
    ("name", "below"),
    [("CUDA_ROOT", ""), ("CMAKE_PREFIX_PATH", ""), ("CMAKE_PROGRAM_PATH", "/bin")],
)
def test_prefixes_beat_path(tmp_path: Path, name: str, below: str) -> None:
    fake_nvcc(tmp_path / "own")
    fake_nvcc(tmp_path / "path")
    environ = {name: f"{NOWHERE}:{tmp_path}/own{below}", "PATH": f"{tmp_path}/path/bin"}
    assert cmake(environ) == f"{tmp_path}/own"


def test_a_cuda_directory_below_a_directory_of_path_comes_first(tmp_path: Path) -> None:
    program(tmp_path / "nvcc", "")
    fake_nvcc(tmp_path / "cuda")
    assert cmake({"PATH": str(tmp_path)}) == f"{tmp_path}/cuda"


def test_the_systems_prefixes_come_after_path(tmp_path: Path) -> None:
    fake_nvcc(tmp_path / "usr/local/cuda")
    fake_nvcc(tmp_path / "path")
    prefix = f"{tmp_path}/usr/local"
    assert cmake({"PATH": ""}, prefix) == f"{prefix}/cuda"
    assert cmake({"PATH": f"{tmp_path}/path/bin"}, prefix) == f"{tmp_path}/path"


def test_the_last_place(tmp_path: Path) -> None:
    fake_nvcc(tmp_path / "cuda")
    last = f"{tmp_path}/cuda/bin"
    assert toolkit_rules.cmake_root({}, prefixes=(), last=last) == f"{tmp_path}/cuda"


def test_a_root_in_cmake_args_beats_all(tmp_path: Path) -> None:
    fake_nvcc(tmp_path / "path")
    environ = {
        "CMAKE_ARGS": "-DCUDA_TOOLKIT_ROOT_DIR:PATH=/given -DOTHER=1",
        "PATH": f"{tmp_path}/path/bin",
    }
    assert cmake(environ) == "/given"


def test_a_file_that_is_not_executable_is_no_nvcc(tmp_path: Path) -> None:
    fake_nvcc(tmp_path).chmod(0o644)
    assert cmake({"PATH": f"{tmp_path}/bin"}) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-DX=1", "1"),
        ("-DX:STRING=a=b", "a=b"),
        ("-DX=1 -DX=2", "2"),
        ("-DXY=1 -D X=1", None),
        ("", None),
    ],
)
def test_definitions(text: str, expected: str | None) -> None:
    assert toolkit_rules.cmake_definition({"CMAKE_ARGS": text}, "X") == expected


@given(st.text())
def test_any_text_as_cmake_args(text: str) -> None:
    toolkit_rules.cmake_definition({"CMAKE_ARGS": text}, "X")
