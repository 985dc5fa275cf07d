"""The CUDA toolkit: there, new enough, of one piece."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks import remedies, selection
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.knowledge import load
from dsv4_doctor.report import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.citation import Source
    from dsv4_doctor.facts.toolkit import Toolkit


def read_from(toolkit: Toolkit) -> tuple[Evidence, ...]:
    """Return every version that was read in a toolkit, with the file it stands in."""
    rows = (
        (toolkit.nvcc_version, f"{toolkit.nvcc or 'nvcc'} --version"),
        (toolkit.header_version, f"{toolkit.root}/include/cuda.h"),
        (toolkit.runtime_version, f"{toolkit.root}/include/cuda_runtime_api.h"),
        (toolkit.manifest_version, f"{toolkit.root}/version.json"),
    )
    return tuple(Evidence(version, where) for version, where in rows if version)


@check(
    "cuda.toolkit.present",
    "CUDA toolkit",
    reads=("toolkits",),
    reports=("NVIDIA-NeMo/Gym#1405", "vllm-project/vllm#49497", "Dao-AILab/flash-attention#509"),
    fix="Install a CUDA toolkit with nvcc, or assemble one without root: dsv4-doctor toolchain.",
)
def present(context: Context) -> Iterator[Finding]:
    """Whether there is a toolkit with a compiler.

    Building needs nvcc, and so does serving DeepSeek-V4: DeepGEMM and FlashInfer compile their
    kernels when the server starts.
    """
    toolkit = selection.toolkit(context)
    if toolkit is not None and toolkit.nvcc_version:
        yield Finding(
            "cuda.toolkit.present",
            "pass",
            f"CUDA toolkit {toolkit.release} in {toolkit.root}",
            found=f"nvcc {toolkit.nvcc_version} ({', '.join(toolkit.origins)})",
            expected="a CUDA toolkit with nvcc",
            evidence=read_from(toolkit),
        )
        return
    found = toolkit or next(iter(context.need("toolkits", context.snapshot.toolkits).found), None)
    needed = context.target.builds or "deepseek-v4" in context.target.features
    why = f"{found.root}: {found.nvcc_error or 'no bin/nvcc'}" if found else ""
    yield Finding(
        "cuda.toolkit.present",
        "fail" if needed else "warn",
        _no_compiler(found),
        found=why or "none",
        expected="a CUDA toolkit with nvcc",
        evidence=(
            Evidence(
                why or "no toolkit",
                "CUDA_HOME, CUDA_PATH, PATH, /usr/local/cuda*, conda, pip's nvidia/cu*",
            ),
        ),
        source=_jit_sources(context),
        remedy=remedies.install_toolkit(context.release.main_cuda.value),
    )


def _no_compiler(found: Toolkit | None) -> str:
    if found is None:
        return "no CUDA compiler found"
    if found.nvcc is None:
        return f"{found.root} holds the CUDA run time without a compiler"
    return f"{found.root} has no nvcc that answers"


def _jit_sources(context: Context) -> tuple[Source, ...]:
    if context.target.builds:
        return (context.release.main_cuda.source("the release is built with this CUDA"),)
    feature = context.release.features.get("deep-gemm")
    if feature is None or not feature.present:
        return ()
    return tuple(
        place.source("DeepGEMM compiles at run time, with nvcc") for place in feature.places[:1]
    )


@check(
    "cuda.toolkit.version",
    "CUDA toolkit version",
    reads=("toolkits",),
    fix="Install a newer CUDA toolkit.",
)
def new_enough(context: Context) -> Iterator[Finding]:
    """Whether the toolkit is at least this project's floor.

    The version is read in the toolkit; a driver's "CUDA Version" says nothing about it: that is
    what the driver can run, not what is installed.
    """
    toolkit = selection.toolkit(context)
    if toolkit is None or toolkit.release is None:
        return
    floor = load.project().cuda_minimum
    good = selection.release_of(toolkit.release) >= selection.release_of(floor.value)
    yield Finding(
        "cuda.toolkit.version",
        "pass" if good else "fail",
        f"CUDA {toolkit.release} {'>=' if good else 'is older than'} {floor.value}",
        found=toolkit.nvcc_version or toolkit.release,
        expected=f">= {floor.value}",
        evidence=read_from(toolkit),
        source=(floor.source(f"CUDA >= {floor.value}"),),
        remedy=None if good else remedies.install_toolkit(context.release.main_cuda.value),
    )


@check(
    "cuda.toolkit.coherence",
    "one toolkit, one release",
    reads=("toolkits",),
    reports=(
        "vllm-project/vllm#44305",
        "flashinfer-ai/flashinfer#3493",
        "ls1intum/edutelligence#687",
        "vllm-project/perf-eval#52",
    ),
    fix="Reinstall the toolkit from one source; with pip, pin every part of it to one release.",
)
def coherent(context: Context) -> Iterator[Finding]:
    """Whether compiler, headers and manifest of the toolkit belong to one release.

    Parts of different releases compile, and then fail in ptxas or at load time.
    """
    toolkit = selection.toolkit(context)
    if toolkit is None:
        return
    read = read_from(toolkit)
    releases = {str(selection.release_of(each.what)) for each in read}
    if not releases:
        return
    if len(read) == 1:
        yield _nothing_to_compare(toolkit, read)
        return
    good = len(releases) == 1
    yield Finding(
        "cuda.toolkit.coherence",
        "pass" if good else "fail",
        "compiler and headers are of one release"
        if good
        else f"{toolkit.root} mixes CUDA {' and '.join(sorted(releases))}",
        found=", ".join(f"{each.what} ({each.where})" for each in read),
        expected="one release throughout",
        evidence=read,
        remedy=None
        if good
        else Remedy(
            "reinstall the toolkit from one source; with pip, pin every part to one release",
            remedies.install_toolkit(context.release.main_cuda.value).commands,
        ),
    )


def _nothing_to_compare(toolkit: Toolkit, read: tuple[Evidence, ...]) -> Finding:
    return Finding(
        "cuda.toolkit.coherence",
        "unknown",
        f"of {toolkit.root} only one version could be read, so there is nothing to compare",
        found=f"{read[0].what} ({read[0].where})",
        expected="one release throughout",
        evidence=read,
    )


@check(
    "cuda.toolkit.complete",
    "toolkit complete",
    reads=("toolkits",),
    reports=("vllm-project/vllm#11191",),
    fix="Install the whole toolkit of that release, not only its compiler.",
)
def complete(context: Context) -> Iterator[Finding]:
    """Whether the headers and libraries that a build of vLLM includes are there.

    A toolkit of which only the compiler was installed passes every version check and stops the
    build at the first include of cuBLAS or cuSPARSE.
    """
    toolkit = selection.toolkit(context)
    if toolkit is None or not context.target.builds:
        return
    yield Finding(
        "cuda.toolkit.complete",
        "warn" if toolkit.missing else "pass",
        f"{toolkit.root} lacks {len(toolkit.missing)} of the files that a build of vLLM needs"
        if toolkit.missing
        else "headers and libraries for a build are there",
        found=f"missing: {', '.join(toolkit.missing)}" if toolkit.missing else "complete",
        expected="nvcc, nvvm, headers and libraries of the CUDA math libraries",
        evidence=(Evidence(", ".join(toolkit.missing) or "all there", toolkit.root),),
        remedy=remedies.install_toolkit(toolkit.release or context.release.main_cuda.value)
        if toolkit.missing
        else None,
    )
