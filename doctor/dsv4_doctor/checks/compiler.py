"""The host compiler that nvcc calls, between the toolkit's ceiling and the release's floor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks import remedies, selection
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.citation import Source
from dsv4_doctor.report import Command, Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from packaging.version import Version

    from dsv4_doctor.facts.compiler import Compiler
    from dsv4_doctor.facts.toolkit import HostCompilerLimits
    from dsv4_doctor.knowledge.model import CompilerFloor
    from dsv4_doctor.report import Status


def floors(context: Context) -> tuple[CompilerFloor, ...]:
    """Return the floors that this release sets for a CUDA build, the highest first."""
    return tuple(sorted(context.release.gcc, key=lambda floor: floor.minimum, reverse=True))


def limits(context: Context) -> HostCompilerLimits | None:
    """Return what the chosen toolkit's own header accepts."""
    toolkit = selection.toolkit(context)
    return toolkit.host_compiler if toolkit is not None else None


def fits(compiler: Compiler, ceiling: HostCompilerLimits | None, floor: Version | None) -> bool:
    """Whether a compiler lies between the ceiling and the floor."""
    version = selection.version(compiler.version)
    if compiler.kind.startswith("clang"):
        below = ceiling.clang_below if ceiling else None
        return below is None or version.major < below
    newest = ceiling.gcc_max if ceiling else None
    return (newest is None or version.major <= newest) and (floor is None or version >= floor)


@check(
    "host.compiler.present",
    "host compiler",
    reads=("compilers", "host"),
    reports=("vllm-project/vllm#2997",),
    fix="Install a C++ compiler.",
)
def present(context: Context) -> Iterator[Finding]:
    """Whether there is a host compiler, and which one nvcc really calls.

    Serving needs one, too: Triton compiles its launchers with it at the first request.
    """
    compilers = context.need("compilers", context.snapshot.compilers)
    used = compilers.used
    if used is not None:
        yield Finding(
            "host.compiler.present",
            "pass",
            f"nvcc uses {used.kind} {used.version}",
            found=f"{used.path} (by {compilers.used_because or 'nobody knows what'})",
            expected="a C++ compiler",
            evidence=tuple(
                Evidence(f"{each.kind} {each.version}", each.path) for each in compilers.found
            ),
        )
        return
    status: Status = "unknown" if compilers.found and compilers.error else "fail"
    yield Finding(
        "host.compiler.present",
        status,
        "no C++ compiler found" if status == "fail" else "the compiler that nvcc uses is not known",
        found=compilers.error or "none on PATH",
        expected="a C++ compiler",
        evidence=(Evidence(compilers.error or "none", "PATH, NVCC_CCBIN, CUDAHOSTCXX"),),
        remedy=Remedy(
            "install a C++ compiler",
            remedies.install_package(context.snapshot.host, debian="g++", redhat="gcc-c++"),
        ),
    )


@check(
    "host.compiler.ceiling",
    "newest compiler that nvcc takes",
    reads=("compilers", "host", "toolkits"),
    reports=("instructlab/instructlab#2169", "ollama/ollama#8809", "ggml-org/llama.cpp#9205"),
    fix="Point nvcc at an older compiler with NVCC_CCBIN and CUDAHOSTCXX, or take a newer toolkit.",
)
def ceiling(context: Context) -> Iterator[Finding]:
    """Whether the host compiler is not too new for the toolkit.

    The ceiling is read in the toolkit's own ``crt/host_config.h``: tables of versions go stale,
    the header cannot. ``-allow-unsupported-compiler`` only silences the check.
    """
    used = context.need("compilers", context.snapshot.compilers).used
    header = limits(context)
    if used is None or header is None:
        return
    clang = used.kind.startswith("clang")
    newest = header.clang_below if clang else header.gcc_max
    if newest is None:
        return
    expected = f"clang < {newest}" if clang else f"gcc <= {newest}"
    good = fits(used, header, None)
    yield Finding(
        "host.compiler.ceiling",
        "pass" if good else "fail",
        f"{used.kind} {used.version} is {'accepted by' if good else 'too new for'} this nvcc",
        found=f"{used.path}: {used.version}",
        expected=expected,
        evidence=(Evidence(used.version, f"{used.path} -dumpfullversion"),),
        source=(Source(expected, "cuda-toolkit", _release(context), header.path, header.line),),
        remedy=None if good else _other_compiler(context),
    )


@check(
    "host.compiler.floor",
    "oldest compiler that the release takes",
    reads=("compilers", "host", "toolkits"),
    reports=("deepspeedai/DeepSpeed#7143",),
    fix="Install a newer compiler and name it with CC, CXX, CUDAHOSTCXX and NVCC_CCBIN.",
)
def floor(context: Context) -> Iterator[Finding]:
    """Whether the host compiler is not too old for the release's C++ standard.

    An older one stops at the headers of torch, or at C++20 in vLLM's own files.
    """
    used = context.need("compilers", context.snapshot.compilers).used
    needed = floors(context)
    if used is None or used.kind.startswith("clang") or not needed or not context.target.builds:
        return
    highest = needed[0]
    good = selection.version(used.version) >= highest.minimum
    yield Finding(
        "host.compiler.floor",
        "pass" if good else "fail",
        f"{used.kind} {used.version} is {'new enough' if good else 'too old'}"
        f" for vLLM {context.release.name}",
        found=f"{used.path}: {used.version}",
        expected=f"gcc >= {highest.minimum}",
        evidence=(Evidence(used.version, f"{used.path} -dumpfullversion"),),
        source=tuple(
            each.place.source(f"gcc >= {each.minimum}, {each.scope} targets") for each in needed
        ),
        remedy=None if good else _other_compiler(context),
    )


def _release(context: Context) -> str:
    toolkit = selection.toolkit(context)
    return (toolkit.release or "") if toolkit is not None else ""


def _other_compiler(context: Context) -> Remedy:
    """Name an installed compiler that fits, else the package that brings one."""
    header = limits(context)
    needed = floors(context)
    lowest = needed[0].minimum if needed and context.target.builds else None
    window = _window(header, lowest)
    fitting = [
        each
        for each in context.need("compilers", context.snapshot.compilers).found
        if each.kind == "g++" and fits(each, header, lowest)
    ]
    if fitting:
        best = max(fitting, key=lambda each: selection.version(each.version))
        return Remedy(f"use {best.path} ({best.version}), which fits {window}", _choose(best))
    if lowest is not None and header and header.gcc_max and lowest.major > header.gcc_max:
        return Remedy(
            f"no gcc fits {window}: take a newer CUDA toolkit for this release",
            remedies.install_toolkit(context.release.main_cuda.value).commands,
        )
    major = (header.gcc_max if header else None) or (lowest.major if lowest else None)
    return Remedy(
        f"no installed compiler fits {window}: install one",
        remedies.install_package(
            context.snapshot.host, debian=f"g++-{major}", redhat=f"gcc-toolset-{major}-gcc-c++"
        ),
    )


def _window(header: HostCompilerLimits | None, lowest: Version | None) -> str:
    parts = [f">= {lowest}"] if lowest is not None else []
    if header is not None and header.gcc_max is not None:
        parts.append(f"<= {header.gcc_max}")
    return "gcc " + " and ".join(parts)


def _choose(best: Compiler) -> tuple[Command, ...]:
    c_compiler = best.path.replace("g++", "gcc")
    return (
        Command(
            env={
                "CC": c_compiler,
                "CXX": best.path,
                "CUDAHOSTCXX": best.path,
                "NVCC_CCBIN": best.path,
            },
            safe=True,
        ),
        Command(
            argv=("update-alternatives", "--install", "/usr/bin/gcc", "gcc", c_compiler, "100",
                  "--slave", "/usr/bin/g++", "g++", best.path),
            root=True,
        ),
    )  # fmt: skip
