"""The same with a real nvcc, where there is one: every target and every compression that it has."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from tests.doctor.binary.builders import FIXTURES

from dsv4_doctor.binary import zstd
from dsv4_doctor.binary.contents import SharedObject
from dsv4_doctor.binary.difference import compare
from dsv4_doctor.binary.inspection import Options, inspect_path

pytestmark = pytest.mark.real

KERNEL = "plain_kernel"
SOURCE = 'extern "C" __global__ void plain_kernel(float* p) { p[threadIdx.x] *= 2.0f; }\n'


@cache
def find_nvcc() -> str | None:
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    places = sorted(Path("/usr/local").glob("cuda-*/bin/nvcc"), reverse=True)
    candidates = [shutil.which("nvcc"), f"{home}/bin/nvcc", *map(str, places)]
    return next((each for each in candidates if each and os.access(each, os.X_OK)), None)


@pytest.fixture(scope="module")
def nvcc() -> str:
    found = find_nvcc()
    if found is None:
        pytest.skip("there is no nvcc on this machine")
    return found


@pytest.fixture(scope="module")
def codes(nvcc: str) -> list[str]:
    listed = subprocess.run([nvcc, "--list-gpu-code"], capture_output=True, text=True, check=True)
    return [line.removeprefix("sm_") for line in listed.stdout.split()]


def compiled(nvcc: str, folder: Path, *options: str) -> SharedObject:
    (folder / "kernel.cu").write_text(SOURCE)
    command = [nvcc, *options, "-c", "kernel.cu", "-o", "kernel.o"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"this nvcc refuses {' '.join(options)}: {done.stderr.strip()[:200]}")
    (found,) = inspect_path(folder / "kernel.o", Options(kernels=True)).objects
    return found


def target(name: str) -> str:
    return f"-gencode=arch=compute_{name},code=[sm_{name},compute_{name}]"


def test_every_target_in_one_object(nvcc: str, codes: list[str], tmp_path: Path) -> None:
    found = compiled(nvcc, tmp_path, *map(target, codes))
    assert set(found.sass) == {f"sm_{name}" for name in codes}
    assert set(found.ptx) == {f"compute_{name}" for name in codes}
    assert found.kernels == len(codes)


@pytest.mark.parametrize("name", ["90a", "100a", "100f", "103f", "120a", "120f", "121a"])
def test_suffixes(nvcc: str, tmp_path: Path, name: str) -> None:
    found = compiled(nvcc, tmp_path, target(name))
    assert (found.sass, found.ptx) == ((f"sm_{name}",), (f"compute_{name}",))


@pytest.mark.parametrize("mode", ["none", "size", "speed", "balance", "default"])
def test_compression(nvcc: str, tmp_path: Path, mode: str) -> None:
    options = (target("90"), f"--compress-mode={mode}", "-Xfatbin=-compress-all")
    found = compiled(nvcc, tmp_path, *options)
    used = {image.compression for image in found.images}
    assert used == {"none": {"none"}, "speed": {"lz4"}}.get(mode, {"zstd"})
    if used == {"zstd"} and zstd.decoder() is None:
        pytest.skip("no zstd decoder here")
    assert found.kernels == 1
    assert not found.unread


def test_fixture_compiled_again(nvcc: str, tmp_path: Path) -> None:
    shutil.copy(FIXTURES / "kernels.cu", tmp_path)
    command = [nvcc, target("90a"), "-c", "kernels.cu", "-o", "kernels.o"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    (found,) = inspect_path(tmp_path / "kernels.o", Options(prove=("fa3", "paged-v2"))).objects
    assert {(each.family, each.arch) for each in found.families} == {
        ("fa3", "sm_90a"),
        ("paged-v2", "sm_90a"),
    }


HIDDEN = """
#include <cstdio>
namespace { __global__ void hidden(float* p) { p[threadIdx.x] += 1.0f; } }
void launch(float* p) { hidden<<<1, 32>>>(p); std::printf("%s", __FILE__); }
"""


def in_folder(nvcc: str, folder: Path, *options: str, written: int | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "kernel.cu"
    source.write_text(HIDDEN)
    if written is not None:
        os.utime(source, (written, written))
    command = [nvcc, target("90"), *options, "-c", str(source), "-o", "kernel.o"]
    subprocess.run(command, cwd=folder, capture_output=True, check=True)
    return folder / "kernel.o"


def test_why_objects_of_one_source_differ(nvcc: str, tmp_path: Path) -> None:
    first = in_folder(nvcc, tmp_path / "one")
    second = first.rename(tmp_path / "one/first.o")
    (again,) = compare(second, in_folder(nvcc, tmp_path / "one")).files
    assert {each.kind for each in again.causes} == {"temporary-names"}
    assert again.unexplained == ()
    (elsewhere,) = compare(second, in_folder(nvcc, tmp_path / "another/place")).files
    kinds = {each.kind for each in elsewhere.causes}
    assert {"temporary-names", "module-ids", "paths"} <= kinds
    assert "build-id" not in kinds
    assert elsewhere.unexplained == ()


def test_when_a_source_was_written(nvcc: str, tmp_path: Path) -> None:
    first = in_folder(nvcc, tmp_path, "-lineinfo").rename(tmp_path / "first.o")
    second = in_folder(nvcc, tmp_path, "-lineinfo", written=1_700_000_000)
    (found,) = compare(first, second).files
    (times,) = (each for each in found.causes if each.kind == "times")
    assert times.detail.endswith("-> 2023-11-14T22:13:20Z")
    assert found.unexplained == ()
