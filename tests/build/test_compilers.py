from __future__ import annotations

import pytest
from packaging.version import Version
from tests.doctor.machines import compiler

from dsv4_build.compilers import Bounds, choose
from dsv4_doctor.errors import BuildError
from dsv4_doctor.facts.compiler import Compiler, HostCompilers
from dsv4_doctor.facts.toolkit import HostCompilerLimits


def _pair(version: str, suffix: str = "", directory: str = "/usr/bin") -> tuple[Compiler, Compiler]:
    return (
        compiler(version, f"{directory}/gcc{suffix}", "gcc"),
        compiler(version, f"{directory}/g++{suffix}", "g++"),
    )


def _bounds(newest: int | None = 15, oldest: str | None = "11.3") -> Bounds:
    return Bounds(
        HostCompilerLimits(newest, 21, "host_config.h", 143),
        "CUDA 13.0",
        Version(oldest) if oldest else None,
        "vLLM 0.24.0",
    )


def test_what_nvcc_would_take_is_kept_when_it_fits() -> None:
    pair, newer = _pair("12.2.0"), _pair("14.1.0", "-14")
    chosen = choose(HostCompilers((*pair, *newer), pair[0], "PATH"), _bounds())
    assert (chosen.cc, chosen.cxx, chosen.name) == ("/usr/bin/gcc", "/usr/bin/g++", "g++ 12.2.0")
    assert "nvcc would take (PATH)" in chosen.because


def test_one_above_the_ceiling_is_replaced_by_the_newest_below_it() -> None:
    found = (*_pair("16.1.0"), *_pair("13.3.0", "-13"), *_pair("14.2.0", "-14"))
    chosen = choose(HostCompilers(found, found[0], "PATH"), _bounds())
    assert chosen.cxx == "/usr/bin/g++-14"
    assert chosen.cc == "/usr/bin/gcc-14"
    assert "takes gcc up to 15" in chosen.because


def test_one_below_the_floor_is_refused() -> None:
    found = (*_pair("10.2.0"), *_pair("9.4.0", "-9"))
    with pytest.raises(BuildError, match="no host compiler fits") as caught:
        choose(HostCompilers(found, found[1], "PATH"), _bounds())
    assert "asks for gcc >= 11.3" in str(caught.value)
    assert "g++-15" in caught.value.hint


def test_a_compiler_alone_is_not_enough() -> None:
    found = (compiler("12.2.0", "/usr/bin/g++-12"),)
    with pytest.raises(BuildError, match="no gcc of the same version beside it"):
        choose(HostCompilers(found, None, None), _bounds())


def test_the_partner_is_of_the_same_installation() -> None:
    found = (*_pair("12.2.0", "", "/opt/tools/bin"), *_pair("12.2.0"))
    chosen = choose(HostCompilers(found, found[3], "NVCC_CCBIN"), _bounds())
    assert (chosen.cc, chosen.cxx) == ("/usr/bin/gcc", "/usr/bin/g++")


def test_clang_is_taken_when_no_gcc_fits() -> None:
    clang = (
        compiler("18.1.0", "/usr/bin/clang", "clang"),
        compiler("18.1.0", "/usr/bin/clang++", "clang++"),
    )
    found = (*_pair("16.1.0"), *clang)
    assert choose(HostCompilers(found, None, None), _bounds()).cxx == "/usr/bin/clang++"
    old = Bounds(HostCompilerLimits(12, 16, "host_config.h", 1), "CUDA 12.2")
    with pytest.raises(BuildError, match="takes clang below 16"):
        choose(HostCompilers(clang, None, None), old)


def test_an_unreadable_version_is_no_compiler() -> None:
    with pytest.raises(BuildError, match="cannot be read"):
        choose(HostCompilers(_pair("unknown"), None, None), _bounds())


def test_no_compiler_at_all() -> None:
    with pytest.raises(BuildError, match="no host compiler fits") as caught:
        choose(HostCompilers((), None, None), Bounds(None, "CUDA 13.0"))
    assert "apt-get install g++" in caught.value.hint
