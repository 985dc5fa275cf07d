"""The host compiler that nvcc really calls, and what decided for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.doctor.probes.fakes import fake_nvcc, program

from dsv4_doctor.facts.compiler import Compiler, HostCompilers
from dsv4_doctor.probes import compiler, nvcc
from dsv4_doctor.probes.compiler import Chosen

if TYPE_CHECKING:
    from pathlib import Path


def gcc(path: Path, version: str) -> Path:
    return program(path, f"echo {version}")


@pytest.fixture
def bin_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with two gcc, and nothing else but what the fakes themselves need."""
    directory = tmp_path / "bin"
    gcc(directory / "gcc", "12.2.0")
    gcc(directory / "g++", "12.2.0")
    gcc(directory / "g++-13", "13.3.0")
    monkeypatch.setenv("PATH", str(directory))
    return directory


def survey(directory: Path, **environ: str) -> HostCompilers:
    return compiler.survey(
        {"PATH": str(directory), **environ},
        default_root="/no/such/place",
        filesystem=directory / "no-system",
    )


def test_what_nvcc_names_is_used(bin_directory: Path, tmp_path: Path) -> None:
    fake_nvcc(tmp_path / "cuda")
    found = survey(bin_directory, CUDA_HOME=f"{tmp_path}/cuda")
    assert found.used == Compiler(f"{bin_directory}/gcc", "gcc", "12.2.0")
    assert (found.used_because, found.error) == ("PATH", None)
    assert [each.path.rpartition("/")[2] for each in found.found] == ["g++", "g++-13", "gcc"]


def test_a_compiler_beside_nvcc_comes_before_path(bin_directory: Path, tmp_path: Path) -> None:
    # Debian's toolkit brings links to the compilers that it supports.
    fake_nvcc(tmp_path / "cuda")
    gcc(tmp_path / "cuda/bin/gcc", "11.4.0")
    found = survey(bin_directory, CUDA_HOME=f"{tmp_path}/cuda")
    assert found.used == Compiler(f"{tmp_path}/cuda/bin/gcc", "gcc", "11.4.0")


def test_a_compiler_outside_of_path_is_asked_too(bin_directory: Path, tmp_path: Path) -> None:
    other = gcc(tmp_path / "other/g++-14", "14.2.0")
    fake_nvcc(tmp_path / "cuda", host=f'"{other.parent}"/g++-14')
    found = survey(bin_directory, CUDA_HOME=f"{tmp_path}/cuda", NVCC_CCBIN=str(other))
    assert found.used == Compiler(str(other), "g++", "14.2.0")
    assert found.used_because == "NVCC_CCBIN"


@pytest.mark.parametrize("runs", [True, False])
def test_a_clang_that_is_used_is_run(bin_directory: Path, tmp_path: Path, *, runs: bool) -> None:
    # In the list its files tell its version; the one that compiles must work, too.
    works = "echo clang version 14.0.6" if runs else "echo libLLVM: not found >&2; exit 127"
    clang = program(tmp_path / "llvm/bin/clang", works)
    (tmp_path / "llvm/lib/clang/14.0.6/include").mkdir(parents=True)
    for name in ("clang", "clang++"):
        (bin_directory / name).symlink_to(clang)
    fake_nvcc(tmp_path / "cuda", host="clang++")
    found = survey(bin_directory, CUDA_HOME=f"{tmp_path}/cuda", CXX="clang++")
    listed = Compiler(f"{bin_directory}/clang++", "clang++", "14.0.6")
    assert listed in found.found
    assert found.used == (listed if runs else None)
    assert bool(found.error) is not runs


def test_the_nvcc_of_cuda_home_is_asked_before_that_on_path(
    bin_directory: Path, tmp_path: Path
) -> None:
    fake_nvcc(tmp_path / "cuda", host="g++-13")
    program(bin_directory / "nvcc", "exit 1")
    used = survey(bin_directory, CUDA_HOME=f"{tmp_path}/cuda").used
    assert used is not None
    assert used.version == "13.3.0"


def test_what_cmake_chooses_is_handed_to_nvcc(bin_directory: Path, tmp_path: Path) -> None:
    program(tmp_path / "cuda/bin/nvcc", 'test "$2" = -ccbin && echo "#\\$ $3 -E -D__CUDACC__" >&2')
    found = survey(
        bin_directory, CUDA_HOME=f"{tmp_path}/cuda", CUDAHOSTCXX=f"{bin_directory}/g++-13"
    )
    assert found.used == Compiler(f"{bin_directory}/g++-13", "g++", "13.3.0")
    assert found.used_because == "CUDAHOSTCXX"


def test_without_nvcc_the_first_plain_name_is_used(bin_directory: Path) -> None:
    found = survey(bin_directory)
    assert found.used == Compiler(f"{bin_directory}/g++", "g++", "12.2.0")
    assert found.used_because == "PATH (no nvcc to ask)"


def test_without_nvcc_a_versioned_name_is_better_than_none(bin_directory: Path) -> None:
    for name in ("gcc", "g++"):
        (bin_directory / name).unlink()
    used = survey(bin_directory).used
    assert used is not None
    assert used.path == f"{bin_directory}/g++-13"


def test_no_compiler_at_all(tmp_path: Path) -> None:
    assert survey(tmp_path) == HostCompilers((), None, None, None, system_headers=())


def test_nvcc_without_a_compiler_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    program(tmp_path / "cuda/bin/nvcc", "echo 'gcc: No such file or directory' >&2; exit 1")
    found = survey(tmp_path, CUDA_HOME=f"{tmp_path}/cuda")
    assert (found.found, found.used, found.used_because) == ((), None, None)
    assert "gcc: No such file or directory" in (found.error or "")


def test_nvcc_that_hangs_leaves_the_list(
    bin_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvcc, "_LIMIT", 0.2)
    program(tmp_path / "cuda/bin/nvcc", "while :; do :; done")
    found = survey(bin_directory, CUDA_HOME=f"{tmp_path}/cuda")
    assert len(found.found) == 3
    assert found.error == f"{tmp_path}/cuda/bin/nvcc: no answer within 0.2 s"


def test_nvcc_that_prints_rubbish(bin_directory: Path, tmp_path: Path) -> None:
    program(tmp_path / "cuda/bin/nvcc", "echo rubbish >&2")
    found = survey(bin_directory, CUDA_HOME=f"{tmp_path}/cuda")
    assert found.used is None
    assert "names no host compiler" in (found.error or "")


def test_a_named_compiler_that_is_not_there(bin_directory: Path, tmp_path: Path) -> None:
    fake_nvcc(tmp_path / "cuda", host='"/no/such"/g++')
    found = survey(bin_directory, CUDA_HOME=f"{tmp_path}/cuda")
    assert found.used is None
    assert found.error == "/no/such/g++: it gives no version"


def test_cmakes_choices_in_their_order(tmp_path: Path) -> None:
    clang = str(program(tmp_path / "clang++", ""))
    plain = str(program(tmp_path / "g++", ""))
    path = [str(tmp_path)]
    given = "-DCMAKE_CUDA_HOST_COMPILER=/given"

    def choose(**environ: str) -> Chosen | None:
        return compiler.cmake_choice(environ, path)

    assert choose(CUDAHOSTCXX="/host", CXX=clang, CMAKE_ARGS=given) == Chosen(
        "/host", "CUDAHOSTCXX"
    )
    by_clang = choose(CXX="clang++", CMAKE_ARGS=given)
    assert by_clang is not None
    assert by_clang.program == clang
    assert by_clang.because.startswith("CXX")
    assert choose(CXX=plain, CMAKE_ARGS=given) == Chosen("/given", "CMAKE_ARGS")
    assert choose(CXX=clang, CMAKE_ARGS=f"-DCMAKE_CXX_COMPILER={plain}") is None
    assert choose(CXX=plain) is None
    assert choose() is None


def test_cmake_takes_clang_where_there_is_no_other(tmp_path: Path) -> None:
    clang = str(program(tmp_path / "clang++", ""))
    chosen = compiler.cmake_choice({}, [str(tmp_path)])
    assert chosen is not None
    assert chosen.program == clang


@pytest.mark.parametrize(
    ("environ", "chosen", "name", "expected"),
    [
        ({}, None, "gcc", "PATH"),
        ({}, None, "/opt/conda/bin/x86_64-conda-linux-gnu-cc", "nvcc.profile"),
        ({"NVCC_CCBIN": "/x"}, None, "/x", "NVCC_CCBIN"),
        (
            {"NVCC_CCBIN": "/x", "NVCC_PREPEND_FLAGS": "-O1 -ccbin /y"},
            None,
            "/y",
            "NVCC_PREPEND_FLAGS",
        ),
        (
            {"NVCC_PREPEND_FLAGS": "-ccbin=/y"},
            Chosen("/z", "CUDAHOSTCXX"),
            "/z",
            "CUDAHOSTCXX",
        ),
        (
            {"NVCC_APPEND_FLAGS": "--compiler-bindir /w"},
            Chosen("/z", "CUDAHOSTCXX"),
            "/w",
            "NVCC_APPEND_FLAGS",
        ),
        ({"NVCC_APPEND_FLAGS": "-ccbinary"}, None, "gcc", "PATH"),
    ],
)
def test_what_decided(
    environ: dict[str, str], chosen: Chosen | None, name: str, expected: str
) -> None:
    assert compiler.decided_by(environ, chosen, name) == expected
