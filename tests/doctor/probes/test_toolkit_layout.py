"""Where toolkits keep their files: classic trees, targets/, pip's wheels, half of a toolkit."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from dsv4_doctor.probes import toolkit_layout

if TYPE_CHECKING:
    from pathlib import Path

TARGET = f"targets/{os.uname().machine}-linux"
PROGRAMS = (
    "bin/nvcc",
    "bin/ptxas",
    "bin/cudafe++",
    "bin/fatbinary",
    "nvvm/bin/cicc",
    "nvvm/libdevice/libdevice.10.bc",
)
HEADERS = (
    "cuda.h",
    "cuda_runtime.h",
    "crt/host_config.h",
    "cublas_v2.h",
    "cusparse.h",
    "cusolverDn.h",
    "curand.h",
    "nvrtc.h",
    "nv/target",
    "nvtx3/nvToolsExt.h",
)


def write(root: Path, *names: str, text: str = "") -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def complete(root: Path, include: str, lib: str) -> None:
    write(root, *PROGRAMS, *(f"{include}/{name}" for name in HEADERS))
    write(root, f"{lib}/libcudart.so", f"{lib}/stubs/libcuda.so")


@pytest.mark.parametrize(
    ("include", "lib"),
    [("include", "lib64"), ("include", "lib"), (f"{TARGET}/include", f"{TARGET}/lib")],
)
def test_complete_toolkits(tmp_path: Path, include: str, lib: str) -> None:
    complete(tmp_path, include, lib)
    assert toolkit_layout.missing(tmp_path) == ()
    assert toolkit_layout.is_toolkit(tmp_path)


def test_each_missing_file_is_named_where_it_belongs(tmp_path: Path) -> None:
    complete(tmp_path, "include", "lib64")
    for name in ("include/cusparse.h", "lib64/stubs/libcuda.so", "nvvm/bin/cicc"):
        (tmp_path / name).unlink()
    assert toolkit_layout.missing(tmp_path) == (
        "nvvm/bin/cicc",
        "include/cusparse.h",
        "lib64/stubs/libcuda.so",
    )


def test_debian_keeps_cicc_beside_nvcc(tmp_path: Path) -> None:
    write(tmp_path, "bin/nvcc", "bin/cicc")
    assert not {"bin/nvcc", "nvvm/bin/cicc"} & set(toolkit_layout.missing(tmp_path))


def test_the_wheels_of_pip_lack_what_cmake_wants(tmp_path: Path) -> None:
    complete(tmp_path, "include", "lib")
    (tmp_path / "lib/libcudart.so").rename(tmp_path / "lib/libcudart.so.13")
    (tmp_path / "lib/stubs/libcuda.so").unlink()
    missing = toolkit_layout.missing(tmp_path)
    assert missing == ("lib64/libcudart.so", "lib64/stubs/libcuda.so")


def test_an_empty_directory_is_no_toolkit(tmp_path: Path) -> None:
    assert not toolkit_layout.is_toolkit(tmp_path)
    assert toolkit_layout.header_version(tmp_path) is None
    assert toolkit_layout.manifest_version(tmp_path) is None
    assert toolkit_layout.host_compiler_limits(tmp_path) is None


def test_a_manifest_alone_is_a_toolkit(tmp_path: Path) -> None:
    write(tmp_path, "version.json", text='{"cuda": {"version": "12.2.2"}}')
    assert toolkit_layout.is_toolkit(tmp_path)
    assert toolkit_layout.manifest_version(tmp_path) == "12.2.2"


def test_the_manifest_of_something_else_is_not(tmp_path: Path) -> None:
    write(tmp_path, "version.json", text='{"name": "node"}')
    assert not toolkit_layout.is_toolkit(tmp_path)


def test_headers_of_a_target(tmp_path: Path) -> None:
    write(tmp_path, f"{TARGET}/include/cuda.h", text="#define CUDA_VERSION 12080\n")
    write(tmp_path, f"{TARGET}/include/crt/host_config.h", text="\n#if __GNUC__ > 14\n")
    assert toolkit_layout.header_version(tmp_path) == "12.8"
    limits = toolkit_layout.host_compiler_limits(tmp_path)
    assert limits is not None
    assert (limits.gcc_max, limits.line) == (14, 2)
    assert limits.path == f"{tmp_path}/{TARGET}/include/crt/host_config.h"


@pytest.mark.parametrize("name", ["sbsa-linux", "aarch64-linux"])
def test_both_targets_of_64_bit_arm(tmp_path: Path, name: str) -> None:
    write(tmp_path, f"targets/{name}/include/cuda.h")
    found = list(toolkit_layout.include_directories(tmp_path, "aarch64"))
    assert found == [tmp_path / f"targets/{name}/include"]
    assert list(toolkit_layout.include_directories(tmp_path, "x86_64")) == []
