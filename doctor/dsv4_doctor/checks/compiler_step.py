"""Around the host compiler: the C++ step, named compilers, parts of gcc, silenced checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.version import Version

from dsv4_doctor.checks import remedies, selection
from dsv4_doctor.checks.compiler import floors
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.knowledge import stack
from dsv4_doctor.knowledge.model import accepts
from dsv4_doctor.report import Command, Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.citation import Source
    from dsv4_doctor.facts.compiler import Compiler, HostCompilers
    from dsv4_doctor.report import Status

_FLAGS = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "CMAKE_CUDA_FLAGS", "CMAKE_ARGS")
_SILENT = "allow-unsupported-compiler"


@check(
    "host.compiler.cxx",
    "compiler of the C++ files",
    reads=("compilers", "python", "toolkits"),
    reports=("deepspeedai/DeepSpeed#7143",),
    fix="Set CXX and CUDAHOSTCXX to one compiler.",
)
def cxx(context: Context) -> Iterator[Finding]:
    """Whether the compiler of the C++ files is new enough, and the one that nvcc calls.

    CMake compiles C++ files with ``CXX`` or the first ``c++`` on PATH, nvcc calls ``gcc``: the two
    can be different compilers. torch's headers refuse an old one: "You're trying to build PyTorch
    with a too old version of GCC".
    """
    if not context.target.builds:
        return
    compilers = context.need("compilers", context.snapshot.compilers)
    used = compilers.cxx
    if used is None or used.kind.startswith("clang"):
        return
    lowest, sources = _floor(context)
    version = selection.version(used.version)
    old = lowest is not None and version < lowest
    other = compilers.used
    differs = other is not None and selection.version(other.version).major != version.major
    status: Status = "fail" if old else ("warn" if differs else "pass")
    yield Finding(
        "host.compiler.cxx",
        status,
        f"C++ files are compiled with {used.kind} {used.version}"
        + (f", which is older than {lowest}" if old else "")
        + (f"; nvcc uses {other.kind} {other.version}" if differs and other else ""),
        found=f"{used.path} (by {compilers.cxx_because or 'PATH'}): {used.version}",
        expected=f"gcc >= {lowest}" if lowest is not None else "the compiler that nvcc uses",
        evidence=_every(compilers),
        source=sources,
        remedy=_one_compiler(context, compilers, lowest) if status != "pass" else None,
    )


def _floor(context: Context) -> tuple[Version | None, tuple[Source, ...]]:
    """Return the oldest gcc that the release and the headers of torch take for C++ files."""
    found = [
        (each.minimum, each.place.source(f"gcc >= {each.minimum}"))
        for each in floors(context)
        if each.scope == "all"
    ]
    python = context.snapshot.python
    torch = python.torch.version if python is not None and python.torch else None
    found += [
        (Version(known.what), known.place.source(f"gcc >= {known.what}"))
        for known in stack.torch_compilers()
        if accepts(known.versions, torch or context.release.torch.value)
    ]
    lowest = max((minimum for minimum, _ in found), default=None)
    return lowest, tuple(source for _, source in found)


def _every(compilers: HostCompilers) -> tuple[Evidence, ...]:
    every: dict[str, Compiler] = {}
    for each in (compilers.cxx, compilers.used, *compilers.found):
        if each is not None:
            every.setdefault(each.path, each)
    return tuple(Evidence(f"{each.kind} {each.version}", each.path) for each in every.values())


def _one_compiler(context: Context, compilers: HostCompilers, lowest: Version | None) -> Remedy:
    header = selection.toolkit(context) if context.snapshot.toolkits is not None else None
    newest = header.host_compiler.gcc_max if header and header.host_compiler else None
    fitting = [
        each
        for each in compilers.found
        if each.kind == "g++"
        and (lowest is None or selection.version(each.version) >= lowest)
        and (newest is None or selection.version(each.version).major <= newest)
    ]
    if not fitting:
        return Remedy(
            f"install gcc {lowest or ''} or newer and name it in CXX and CUDAHOSTCXX".replace(
                "  ", " "
            ),
            remedies.install_package(context.snapshot.host, debian="g++", redhat="gcc-c++"),
        )
    best = max(fitting, key=lambda each: selection.version(each.version))
    gcc = best.path.replace("g++", "gcc")
    return Remedy(
        f"use {best.path} ({best.version}) for both",
        (Command(env={"CC": gcc, "CXX": best.path, "CUDAHOSTCXX": best.path}),),
    )


@check(
    "host.compiler.named",
    "compilers that variables name",
    reads=("compilers",),
    fix="Name a compiler that is there, or unset the variable.",
)
def named(context: Context) -> Iterator[Finding]:
    """Whether the compilers that variables name are there.

    A variable that was set for another machine or for a package that is gone stops a build at its
    first file, and Triton in a running server.
    """
    absent = context.need("compilers", context.snapshot.compilers).absent
    if not absent:
        return
    listed = ", ".join(f"{name}={value}" for name, value in absent.items())
    yield Finding(
        "host.compiler.named",
        "fail" if context.target.builds or "CC" in absent else "warn",
        f"no such compiler: {listed}",
        found=listed,
        expected="programs that exist",
        evidence=tuple(Evidence(value, name) for name, value in absent.items()),
        remedy=Remedy(
            "unset them, or name a compiler that is there",
            (Command(unset=tuple(absent)),),
        ),
    )


@check(
    "host.compiler.cc1plus",
    "the C++ part of gcc",
    reads=("compilers",),
    fix="Install the C++ package of the same gcc.",
)
def cc1plus(context: Context) -> Iterator[Finding]:
    """Whether the gcc that nvcc calls has its C++ part.

    nvcc calls ``gcc``, which starts ``cc1plus``. Where only the C package of that version is
    installed, everything stops with "gcc: fatal error: cannot execute 'cc1plus'".
    """
    compilers = context.need("compilers", context.snapshot.compilers)
    used = compilers.used
    if used is None or compilers.cc1plus is None:
        return
    good = bool(compilers.cc1plus)
    major = selection.version(used.version).major
    yield Finding(
        "host.compiler.cc1plus",
        "pass" if good else "fail",
        f"{used.path} has {'its' if good else 'no'} C++ part (cc1plus)",
        found=compilers.cc1plus or "none",
        expected="cc1plus",
        evidence=(
            Evidence(compilers.cc1plus or "cc1plus", f"{used.path} -print-prog-name=cc1plus"),
        ),
        remedy=None
        if good
        else Remedy(
            f"install the C++ compiler of gcc {major}",
            remedies.install_package(
                context.snapshot.host, debian=f"g++-{major}", redhat="gcc-c++"
            ),
        ),
    )


@check(
    "host.compiler.silenced",
    "silenced compiler check",
    reads=("environment",),
    reports=("gpufit/Gpufit#138",),
    fix="Take the flag away and use a compiler that nvcc supports.",
)
def silenced(context: Context) -> Iterator[Finding]:
    """Whether nvcc's check of the host compiler is silenced.

    ``-allow-unsupported-compiler`` makes no compiler supported: an nvcc that predates gcc 13 then
    ends with hundreds of lines such as 'identifier "_Float32" is undefined'.
    """
    environment = context.need("environment", context.snapshot.environment)
    found = {name: environment[name] for name in _FLAGS if _SILENT in environment.get(name, "")}
    if not found:
        return
    listed = ", ".join(f"{name}={value}" for name, value in found.items())
    yield Finding(
        "host.compiler.silenced",
        "warn",
        f"{', '.join(found)} silences nvcc's check of the host compiler: errors such as"
        " '_Float32 is undefined' may follow",
        found=listed,
        expected="a host compiler that nvcc supports",
        evidence=tuple(Evidence(value, name) for name, value in found.items()),
        remedy=Remedy(
            "take the flag away; where nvcc then refuses the compiler, use an older one",
            (Command(unset=tuple(found)),),
        ),
    )
