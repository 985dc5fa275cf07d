from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet
from tests.build.planning import around
from tests.doctor.machines import toolkit

from dsv4_build.toolchain import choose, system
from dsv4_build.toolchain.pins import Group
from dsv4_doctor.arch import Arch
from dsv4_doctor.errors import BuildError
from dsv4_doctor.facts.toolkit import PathChain, Picks, Toolkit, Toolkits

OLD = toolkit("12.1", "/usr/local/cuda-12.1", gcc_max=12)
NEW = toolkit("13.0", "/usr/local/cuda-13.0")
OTHER = toolkit("12.8", "/opt/cuda-12.8", gcc_max=14)


def _need(group: Group = "compile", major: int | None = None, arch: str = "sm_90") -> system.Need:
    return system.Need(group, SpecifierSet(">=12.3"), "fa3", (Arch.parse(arch),), major)


def _toolkits(*found: Toolkit, home: str | None = None, path: str | None = None) -> Toolkits:
    chain = PathChain("/usr/local/cuda", (home,), exists=True) if home else None
    return Toolkits(chain, found, Picks(path, home, path))


def test_cuda_home_comes_first_then_path_then_the_newest() -> None:
    verdict = system.choose(_toolkits(NEW, OTHER, home=OTHER.root, path=NEW.root), _need())
    assert verdict.chosen == OTHER
    assert system.choose(_toolkits(NEW, OTHER, path=OTHER.root), _need()).chosen == OTHER
    assert system.choose(_toolkits(OTHER, NEW), _need()).chosen == NEW


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (OLD, r"nvcc 12\.1\.88 is not >=12\.3 \(fa3\)"),
        (replace(NEW, nvcc_version=None, nvcc_error="no answer within 4 s"), "no answer"),
        (replace(NEW, nvcc_version=None), "it has no nvcc"),
        (replace(NEW, archs=("sm_75", "sm_80")), "cannot compile for sm_90"),
        (replace(NEW, missing=("nvvm/bin/cicc",)), "it lacks nvvm/bin/cicc"),
    ],
)
def test_why_a_toolkit_does_not_do(tmp_path: Path, broken: Toolkit, reason: str) -> None:
    with pytest.raises(BuildError, match=reason) as caught:
        choose.choose("system", _toolkits(broken), _need(), around(tmp_path))
    assert "--toolchain pypi" in caught.value.hint


def test_the_math_libraries_matter_to_vllm_alone() -> None:
    bare = replace(NEW, missing=("include/cublas_v2.h", "lib64/stubs/libcuda.so"))
    assert system.choose(_toolkits(bare), _need("compile")).chosen == bare
    assert system.choose(_toolkits(bare), _need("full")).chosen is None


def test_torch_and_toolkit_are_of_one_major() -> None:
    assert system.choose(_toolkits(OTHER), _need(major=13)).chosen is None
    assert system.choose(_toolkits(OTHER), _need(major=12)).chosen == OTHER


def test_auto_takes_the_machines_own_when_it_does(tmp_path: Path) -> None:
    chosen = choose.choose("auto", _toolkits(NEW), _need(), around(tmp_path))
    assert (chosen.kind, chosen.root, chosen.selection) == ("system", NEW.root, None)


def test_auto_assembles_one_otherwise_and_says_why(tmp_path: Path) -> None:
    chosen = choose.choose("auto", _toolkits(OLD), _need(), around(tmp_path))
    assert chosen.kind == "pypi"
    assert "/usr/local/cuda-12.1: nvcc 12.1.88 is not" in chosen.because
    assert chosen.root.startswith(str(tmp_path / "cache" / "toolchains" / "cuda-13.0.2-compile"))
    assert chosen.toolkit.host_compiler is not None
    assert chosen.toolkit.host_compiler.path == f"{chosen.root}/include/crt/host_config.h"
    nothing = choose.choose("auto", _toolkits(), _need(), around(tmp_path))
    assert "there is none" in nothing.because


def test_pypi_is_taken_when_asked_for(tmp_path: Path) -> None:
    chosen = choose.choose("pypi", _toolkits(NEW), _need(), around(tmp_path))
    assert (chosen.kind, chosen.because) == ("pypi", "it was asked for")


def test_what_the_wheels_cannot_do_is_said(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="which torch was built with"):
        choose.choose("pypi", None, _need(major=12), around(tmp_path))
    with pytest.raises(BuildError, match="cannot compile for sm_70"):
        choose.choose("auto", None, _need(arch="sm_70"), around(tmp_path))


def test_a_probe_that_failed_is_no_reason_to_stop(tmp_path: Path) -> None:
    chosen = choose.choose("auto", None, _need(), around(tmp_path))
    assert "could not be told" in chosen.because
