"""Reports of family 1: host compiler, glibc, libstdc++."""

from __future__ import annotations

from dataclasses import replace

from tests.doctor.cases.case import Case
from tests.doctor.machines import (
    SITE,
    compiler,
    healthy,
    picks,
    python_environment,
    toolkit,
    with_packages,
)

from dsv4_doctor.facts.compiler import HostCompilers
from dsv4_doctor.facts.python import DeviceCode, Distribution
from dsv4_doctor.facts.symbols import LibraryNeeds, Symbols
from dsv4_doctor.facts.toolkit import PathChain, Toolkit, Toolkits
from dsv4_doctor.snapshot import Snapshot
from dsv4_doctor.target import Target

BUILD = Target("0.24.0", ("sm_90",), (), "build")
SERVE = Target("0.24.0", ("sm_90",), (), "serve")


def with_toolkit(made: Toolkit, **changes: object) -> Snapshot:
    """Return the healthy machine with one toolkit, and sections replaced by keyword."""
    home = PathChain(made.root, (), exists=True)
    return healthy(toolkits=Toolkits(home, (made,), picks(made.root)), **changes)


def _compiled_with(gcc: str, release: str, gcc_max: int) -> Case:
    used = compiler(gcc)
    found = (used, compiler("13.2.0", "/usr/bin/g++-13"))
    return Case(
        "F1-01",
        "instructlab/instructlab#2169",
        with_toolkit(
            toolkit(release, gcc_max=gcc_max), compilers=HostCompilers(found, used, "PATH")
        ),
        BUILD,
        "host.compiler.ceiling",
        names=("13", "14"),
    )


def _math(
    identifier: str,
    report: str,
    *,
    glibc: str,
    release: str,
    gcc: str,
    names: tuple[str, ...],
    clashes: tuple[str, ...],
    header: tuple[str, ...] | None = None,
) -> Case:
    """glibc's header was read where ``header`` is given; else its version tells."""
    used = compiler(gcc)
    host = healthy().host
    assert host is not None
    return Case(
        identifier,
        report,
        with_toolkit(
            replace(toolkit(release, gcc_max=15), math_clashes=clashes),
            host=replace(host, glibc=glibc, distribution="fedora"),
            compilers=HostCompilers((used,), used, "PATH", libc_math=header),
        ),
        BUILD,
        "host.glibc.cuda",
        names=(*names, "changing gcc will not help", glibc, release),
    )


OLD_HEADERS = ("rsqrt", "rsqrtf", "sinpi", "sinpif", "cospi", "cospif")


def _too_new_for_the_front_end() -> Case:
    used = compiler("15.1.1")
    return Case(
        "F1-04",
        "pytorch/pytorch#185698",
        with_toolkit(toolkit("12.8", gcc_max=14), compilers=HostCompilers((used,), used, "PATH")),
        BUILD,
        "host.compiler.ceiling",
        names=("15.1.1", "14"),
    )


def _silenced() -> Case:
    return Case(
        "F1-08",
        "gpufit/Gpufit#138",
        healthy(environment={"NVCC_APPEND_FLAGS": "-allow-unsupported-compiler"}),
        BUILD,
        "host.compiler.silenced",
        "warn",
        names=("_Float32", "NVCC_APPEND_FLAGS"),
    )


def _old_gcc_on_path() -> Case:
    old = compiler("8.5.0", "/usr/bin/g++")
    new = compiler("13.3.0", "/opt/gcc-13/bin/g++-13")
    return Case(
        "F1-10",
        "deepspeedai/DeepSpeed#7143",
        healthy(
            compilers=HostCompilers(
                (old, new), new, "NVCC_CCBIN", cxx=old, cxx_because="PATH", libc_math=()
            )
        ),
        BUILD,
        "host.compiler.cxx",
        names=("8.5.0", "/usr/bin/g++", "/opt/gcc-13/bin/g++-13", "CXX"),
    )


def _module(**needs: str) -> Snapshot:
    """Return a machine whose installed vLLM asks for versions of the C libraries."""
    code = DeviceCode(f"{SITE}/vllm/_C.abi3.so", "vllm", ("sm_90",), (), cuda=(13,))
    code = replace(code, **needs)  # type: ignore[arg-type]
    python = with_packages(Distribution("vllm", "0.24.0", SITE))
    return healthy(python=replace(python, binaries=(code,)))


def _old_glibc() -> Case:
    host = healthy().host
    assert host is not None
    facts = _module(glibc="2.32")
    return Case(
        "F1-11",
        "vllm-project/vllm#6562",
        replace(facts, host=replace(host, glibc="2.17", distribution="centos")),
        SERVE,
        "vllm.install.libraries",
        names=("GLIBC_2.32", "GLIBC_2.17", "_C.abi3.so"),
    )


def _wheel_for_a_newer_glibc() -> Case:
    host = healthy().host
    assert host is not None
    # The wheels of 0.20 asked for 2.35; that of the report, for CPUs, for 2.39.
    return Case(
        "F1-14",
        "vllm-project/vllm#58270",
        healthy(host=replace(host, glibc="2.34", distribution="rhel")),
        Target("0.20.2", ("sm_90",), (), "serve"),
        "vllm.wheel.glibc",
        names=("2.34", "2.35", "manylinux_2_35"),
    )


def _dependency(identifier: str, report: str, package: str, glibcxx: str, here: str) -> Case:
    path = f"{SITE}/{package}/lib{package}.so"
    return Case(
        identifier,
        report,
        healthy(
            python=python_environment(
                libstdcxx="/lib64/libstdc++.so.6", glibcxx=here, cxxabi="1.3.11"
            ),
            symbols=Symbols(
                f"{SITE}/torch/lib", (), (), needs=(LibraryNeeds(package, path, glibcxx=glibcxx),)
            ),
        ),
        SERVE,
        "python.packages.libraries",
        names=(package, f"GLIBCXX_{glibcxx}", f"GLIBCXX_{here}", "/lib64/libstdc++.so.6"),
    )


CASES = (
    _compiled_with("14.2.1", "12.5", 13),
    _too_new_for_the_front_end(),
    _math(
        "F1-04",
        "pytorch/pytorch#185698",
        glibc="2.43",
        release="12.8",
        gcc="13.3.0",
        names=("cospi",),
        clashes=OLD_HEADERS,
    ),
    *(
        _math(
            "F1-05",
            "opencv/opencv#27111",
            glibc="2.41",
            release=release,
            gcc=gcc,
            names=("cospi", "math_functions.h"),
            clashes=OLD_HEADERS,
            header=("cospi", "sinpi"),
        )
        for release, gcc in (("12.4", "13.3.0"), ("12.8", "7.5.0"), ("12.8", "14.2.0"))
    ),
    _math(
        "F1-07",
        "pytorch/extension-cpp#122",
        glibc="2.42",
        release="13.0",
        gcc="15.2.0",
        names=("rsqrt", ">=13.2 for rsqrt"),
        # CUDA 13.0 mended the others only.
        clashes=("rsqrt", "rsqrtf"),
        header=("cospi", "sinpi", "rsqrt"),
    ),
    _silenced(),
    _old_gcc_on_path(),
    _old_glibc(),
    _wheel_for_a_newer_glibc(),
    _dependency("F1-16", "llm-d/llm-d-kv-cache#445", "kv_cache", "3.4.30", "3.4.29"),
    _dependency("F1-17", "mlc-ai/xgrammar#821", "xgrammar", "3.4.26", "3.4.25"),
)
