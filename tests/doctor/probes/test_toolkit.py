"""All toolkits of a machine: each once, with every way it was found and who would take it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.doctor.probes.fakes import fake_toolkit, program

from dsv4_doctor.facts.toolkit import Picks, Toolkits
from dsv4_doctor.probes import nvcc, toolkit

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A file system with ``/usr/local/cuda -> /etc/alternatives/cuda -> /usr/local/cuda-12.4``."""
    root = tmp_path.resolve()
    fake_toolkit(root / "usr/local/cuda-12.4")
    (root / "etc/alternatives").mkdir(parents=True)
    (root / "etc/alternatives/cuda").symlink_to(root / "usr/local/cuda-12.4")
    (root / "usr/local/cuda").symlink_to(root / "etc/alternatives/cuda")
    return root


def survey(machine: Path, environ: dict[str, str], python: str | None = None) -> Toolkits:
    # Without an interpreter of its own the search would see the environment of the tests.
    return toolkit.survey(environ, python or f"{machine}/no-python", machine)


def picks(path: str | None, torch: str | None, cmake: str | None) -> Picks:
    """Return what each takes where what compiles at run time has torch's rule."""
    names = ("flashinfer", "deep-gemm", "tilelang")
    return Picks(path, torch, cmake, dict.fromkeys(names, torch) if torch is not None else {})


def test_one_toolkit_found_in_many_ways_is_one(machine: Path) -> None:
    local = machine / "usr/local"
    found = survey(machine, {"CUDA_HOME": f"{local}/cuda", "PATH": f"{local}/cuda/bin"})
    (only,) = found.found
    assert only.root == f"{local}/cuda-12.4"
    assert only.origins == ("CUDA_HOME", "PATH", "/usr/local/cuda", "/usr/local/cuda-12.4")
    assert found.picks == picks(only.root, only.root, only.root)
    assert found.cuda_home is not None
    assert found.cuda_home.hops == (f"{machine}/etc/alternatives/cuda", only.root)


def test_what_is_read_of_a_toolkit(machine: Path) -> None:
    (only,) = survey(machine, {"PATH": ""}).found
    assert only.nvcc == f"{only.root}/bin/nvcc"
    assert (only.nvcc_version, only.nvcc_error) == ("12.4.131", None)
    assert (only.header_version, only.manifest_version, only.release) == ("12.4", None, "12.4")
    assert only.archs == ("sm_80", "sm_90", "sm_90a")
    assert only.host_compiler is not None
    assert only.host_compiler.gcc_max == 13
    assert "lib64/stubs/libcuda.so" in only.missing


def test_toolkits_that_disagree(machine: Path) -> None:
    local = machine / "usr/local"
    newer = fake_toolkit(local / "cuda-13.0", version="13.0.88", code=13000)
    found = survey(machine, {"CUDA_HOME": str(newer), "PATH": f"{local}/cuda/bin"})
    assert [each.release for each in found.found] == ["13.0", "12.4"]
    assert found.picks == picks(f"{local}/cuda-12.4", str(newer), f"{local}/cuda-12.4")


def test_a_wrapper_on_path_is_seen_through(machine: Path) -> None:
    real = machine / "usr/local/cuda-12.4"
    program(machine / "usr/local/bin/nvcc", f'exec {real}/bin/nvcc "$@"')
    found = survey(machine, {"PATH": f"{machine}/usr/local/bin"})
    assert found.found[0].root == str(real)
    assert found.found[0].origins[0] == "PATH"
    # torch and CMake take the directory above the wrapper, which holds no headers.
    above = f"{machine}/usr/local"
    assert found.picks == picks(str(real), above, above)


def test_a_cuda_home_that_only_wraps_is_called_so(machine: Path) -> None:
    real = machine / "usr/local/cuda-12.4"
    program(machine / "opt/wrap/bin/nvcc", f'exec {real}/bin/nvcc "$@"')
    found = survey(machine, {"CUDA_HOME": f"{machine}/opt/wrap", "PATH": ""})
    assert found.found[0].origins[0] == "CUDA_HOME (wrapper)"
    assert found.picks.torch == f"{machine}/opt/wrap"


def test_a_tree_that_links_to_the_compiler_is_the_same_toolkit(machine: Path) -> None:
    # As Debian has it: the compiler in one directory, the headers below another.
    compiler = machine / "usr/lib/nvidia-cuda-toolkit"
    fake_toolkit(compiler)
    tree = machine / "usr/lib/cuda"
    tree.mkdir()
    (compiler / "include").rename(tree / "include")
    (tree / "bin").symlink_to(compiler / "bin")
    found = {each.root: each.origins for each in survey(machine, {"PATH": ""}).found}
    assert found[str(tree)] == ("/usr/lib/cuda", "/usr/lib/nvidia-cuda-toolkit (wrapper)")
    assert str(compiler) not in found


def test_the_compiler_that_cmake_is_given(machine: Path) -> None:
    other = fake_toolkit(machine / "srv/cuda-13.0", version="13.0.88", code=13000)
    found = survey(machine, {"CUDACXX": f"{other}/bin/nvcc", "PATH": ""}).found
    assert (found[0].root, found[0].origins) == (str(other), ("CUDACXX",))
    assert [each.root for each in survey(machine, {"CUDACXX": "nvcc", "PATH": ""}).found] == [
        f"{machine}/usr/local/cuda-12.4"
    ]


def test_the_toolkit_of_conda(machine: Path) -> None:
    prefix = fake_toolkit(machine / "opt/conda")
    found = survey(machine, {"CONDA_PREFIX": str(prefix), "PATH": ""})
    assert found.found[-1].origins == ("conda",)


def test_the_toolkit_of_pip(machine: Path) -> None:
    site = machine / "venv/lib/python3.12/site-packages"
    fake_toolkit(site / "nvidia/cu13", version="13.0.88", code=13000)
    (site / "nvidia/cublas/include").mkdir(parents=True)
    answer = ("3.12.3", f"{machine}/venv", "/usr", "", [str(site)])
    python = program(machine / "venv/bin/python", f'echo "{answer!r}"')
    found = survey(machine, {"PATH": ""}, str(python))
    assert found.found[-1].origins == ("pip",)
    assert found.found[-1].root == f"{site}/nvidia/cu13"


def test_a_machine_without_any(tmp_path: Path) -> None:
    found = survey(tmp_path, {"PATH": ""})
    assert found == Toolkits(None, (), picks(None, None, None))


def test_a_cuda_home_that_is_not_there(tmp_path: Path) -> None:
    found = survey(tmp_path.resolve(), {"CUDA_HOME": f"{tmp_path}/gone", "PATH": ""})
    assert found.found == ()
    assert found.cuda_home is not None
    assert not found.cuda_home.exists
    assert found.picks.torch == f"{tmp_path.resolve()}/gone"


def test_an_empty_cuda_home_is_not_set(tmp_path: Path) -> None:
    assert survey(tmp_path, {"CUDA_HOME": "", "PATH": ""}).cuda_home is None


def test_a_toolkit_that_hangs_is_told_and_hides_no_other(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvcc, "_LIMIT", 0.3)
    local = machine / "usr/local"
    program(local / "cuda-13.0/bin/nvcc", "sleep 60")
    by_root = {each.root: each for each in survey(machine, {"PATH": ""}).found}
    hung = by_root[f"{local}/cuda-13.0"]
    assert hung.nvcc_version is None
    assert hung.nvcc_error == f"{hung.nvcc}: no answer within 0.3 s"
    assert by_root[f"{local}/cuda-12.4"].nvcc_version == "12.4.131"


def test_headers_without_a_compiler(machine: Path) -> None:
    (machine / "usr/local/cuda-12.4/bin/nvcc").unlink()
    (only,) = survey(machine, {"PATH": ""}).found
    assert (only.nvcc, only.nvcc_version, only.nvcc_error) == (None, None, None)
    assert only.release == "12.4"
    assert "bin/nvcc" in only.missing
