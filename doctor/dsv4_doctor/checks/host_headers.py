"""System headers against CUDA's: math functions that both declare, and those that a build needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks import remedies, selection
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.knowledge import load, stack
from dsv4_doctor.knowledge.model import accepts
from dsv4_doctor.report import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.citation import Source


@check(
    "host.glibc.cuda",
    "glibc and CUDA's math headers",
    reads=("compilers", "host", "toolkits"),
    reports=(
        "pytorch/pytorch#185698",
        "opencv/opencv#27111",
        "pytorch/extension-cpp#122",
    ),
    fix="Use a newer CUDA toolkit, or patch its crt/math_functions.h; another gcc does not help.",
)
def clash(context: Context) -> Iterator[Finding]:
    """Whether glibc declares math functions in a way that the toolkit's headers contradict.

    glibc 2.41 brought ``cospi`` and ``sinpi``, 2.42 ``rsqrt``, each with an exception clause that
    older CUDA headers lack: "exception specification is incompatible with that of previous
    function". Both headers are read; changing gcc will not help.
    """
    toolkit = selection.toolkit(context)
    host = context.snapshot.host
    compilers = context.snapshot.compilers
    if toolkit is None or toolkit.nvcc_version is None:
        return
    declared, where, sources = _declared(
        compilers.libc_math if compilers is not None else None,
        host.glibc if host is not None else None,
    )
    if declared is None:
        return
    bad = [name for name in toolkit.math_clashes if name.removesuffix("f") in declared]
    glibc = host.glibc if host is not None and host.glibc else "here"
    header = f"{toolkit.root}/include/crt/math_functions.h"
    yield Finding(
        "host.glibc.cuda",
        "fail" if bad else "pass",
        f"glibc {glibc} and CUDA {toolkit.release} both declare {', '.join(bad)} in ways that"
        " contradict each other: changing gcc will not help"
        if bad
        else f"glibc {glibc} and CUDA {toolkit.release} agree on the math functions",
        found=", ".join(bad) or "no clash",
        expected="declarations with an exception clause in crt/math_functions.h",
        evidence=(
            Evidence(", ".join(declared) or "none of these functions", where),
            Evidence(", ".join(toolkit.math_clashes) or "none without a clause", header),
        ),
        source=sources,
        remedy=_remedy(header, bad) if bad else None,
    )


def _declared(
    read: tuple[str, ...] | None, glibc: str | None
) -> tuple[tuple[str, ...] | None, str, tuple[Source, ...]]:
    """Return what glibc declares: as its header says, else as its version tells."""
    if read is not None:
        return read, "bits/mathcalls.h", ()
    if glibc is None:
        return None, "", ()
    known = [
        each
        for each in stack.math_functions()
        if selection.version(glibc) >= selection.version(each.what)
    ]
    names = tuple(name for each in known for name in each.names)
    sources = tuple(
        each.place.source(f"{', '.join(each.names)} since glibc {each.what}") for each in known
    )
    return names, f"glibc {glibc}", sources


def _remedy(header: str, bad: list[str]) -> Remedy:
    known = [each for each in stack.math_functions() if not set(each.names).isdisjoint(bad)]
    mended = ", ".join(f"{each.nvcc} for {' and '.join(each.names)}" for each in known)
    ours = load.project().assembled_cuda.value
    fits = all(accepts(each.nvcc, ours) for each in known)
    return Remedy(
        f"use a newer CUDA toolkit ({mended}), or give the functions in {header} the clause"
        " noexcept(true); no other gcc helps, because the clash is between two headers",
        remedies.install_toolkit(ours).commands if fits else (),
    )


@check(
    "build.headers.system",
    "headers of system packages",
    reads=("compilers", "host"),
    reports=("https://github.com/dp-web4/HRM/blob/main/sage/docs/VLLM_BUILD_STATUS.md",),
    fix="Install libnuma-dev (numactl-devel).",
)
def system(context: Context) -> Iterator[Finding]:
    """Whether the headers of system packages that vLLM's parts include are there.

    ``numa.h`` is included by vLLM's code for CPUs and by fastsafetensors, which vLLM asks for and
    which is compiled where no wheel fits.
    """
    if not context.target.builds:
        return
    there = context.need("compilers", context.snapshot.compilers).system_headers
    if there is None:
        return
    good = "numa.h" in there
    host = context.snapshot.host
    # For x86_64 there are wheels of everything that includes it.
    needed = host is not None and host.machine != "x86_64"
    yield Finding(
        "build.headers.system",
        "pass" if good else ("warn" if needed else "skip"),
        "numa.h is there"
        if good
        else "numa.h is missing"
        + (": parts of vLLM that are compiled here include it" if needed else ""),
        found=", ".join(there) or "none",
        expected="numa.h",
        evidence=(Evidence("there" if good else "not there", "/usr/include, CPATH"),),
        remedy=None
        if good
        else Remedy(
            "install the header",
            remedies.install_package(host, debian="libnuma-dev", redhat="numactl-devel"),
        ),
    )
