"""Kernels that are compiled in a running server: with which nvcc, and whether it can."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from dsv4_doctor.checks import remedies, selection
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.checks.toolkit import read_from
from dsv4_doctor.knowledge import load, stack
from dsv4_doctor.knowledge.model import accepts
from dsv4_doctor.report import Evidence, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.arch import Arch
    from dsv4_doctor.facts.toolkit import Toolkit
    from dsv4_doctor.knowledge.stack import Known
    from dsv4_doctor.report import Remedy

_TITLES = {"flashinfer": "FlashInfer", "deep-gemm": "DeepGEMM", "tilelang": "TileLang"}


def runtime_toolkit(context: Context, consumer: str) -> Toolkit | None:
    """Return the toolkit that a consumer in a running server takes, ``None`` for none.

    A directory that holds a wrapper of nvcc only, such as /usr/local, leads to the toolkit behind
    the wrapper, which is the one on PATH.
    """
    toolkits = context.need("toolkits", context.snapshot.toolkits)
    root = toolkits.picks.runtime.get(consumer, toolkits.picks.torch)
    known = {each.root: each for each in toolkits.found}
    if root is not None and root not in known:
        return known.get(toolkits.picks.path or "")
    return known.get(root or "")


def flashinfer_version(context: Context) -> str | None:
    """Return the version of FlashInfer: installed, else what the release pins exactly."""
    python = context.snapshot.python
    dist = python.distribution("flashinfer-python") if python is not None else None
    if dist is not None:
        return dist.version
    pin = load.packages()["run flashinfer-python"].says(context.release.name) or {}
    try:
        exact = [
            each for each in SpecifierSet(",".join(pin.get("asks", ()))) if each.operator == "=="
        ]
    except InvalidSpecifier:
        return None
    return exact[0].version if exact else None


@check(
    "jit.nvcc.minimum",
    "nvcc for run-time kernels",
    reads=("gpus", "python", "toolkits"),
    reports=("vllm-project/vllm#50705", "vllm-project/vllm#44305"),
    fix="Point CUDA_HOME at a newer toolkit.",
)
def minimum(context: Context) -> Iterator[Finding]:
    """Whether nvcc is new enough for what is compiled in a running server, for the GPUs wanted.

    The minimum belongs to the consumer and the GPU: a toolkit that builds vLLM may be too old for
    FlashInfer on the same GPU ("SM 12.x requires CUDA >= 12.9").
    """
    if not context.target.serves:
        return
    version = flashinfer_version(context)
    toolkit = runtime_toolkit(context, "flashinfer")
    if version is None or toolkit is None or not toolkit.nvcc_version:
        return
    for arch in selection.wanted_archs(context):
        for known in stack.jit_minimums():
            if accepts(known.versions, version) and arch.base.dotted in known.archs:
                yield _minimum(context, known, arch, version, toolkit)


def _minimum(context: Context, known: Known, arch: Arch, version: str, toolkit: Toolkit) -> Finding:
    nvcc = toolkit.nvcc_version or ""
    good = accepts(known.nvcc, nvcc)
    return Finding(
        "jit.nvcc.minimum",
        "pass" if good else "fail",
        f"{known.what} {version} {'compiles' if good else 'cannot compile'} for {arch.base.sm}"
        f" with nvcc {nvcc}",
        found=f"{toolkit.root}: nvcc {nvcc}",
        expected=f"nvcc {known.nvcc}",
        evidence=read_from(toolkit),
        source=(known.place.source(f"{known.what} for {arch.base.sm}: nvcc {known.nvcc}"),),
        remedy=None if good else _newer(context, known),
    )


def _newer(context: Context, known: Known) -> Remedy:
    toolkits = context.need("toolkits", context.snapshot.toolkits)
    fitting = [
        each
        for each in toolkits.found
        if each.nvcc_version and accepts(known.nvcc, each.nvcc_version)
    ]
    if fitting:
        return remedies.use_toolkit(fitting[0].root)
    return remedies.install_toolkit(context.release.main_cuda.value)


@check(
    "jit.toolkit.complete",
    "toolkit of the server",
    reads=("toolkits",),
    reports=("vllm-project/vllm#45732",),
    fix="Install nvrtc, cuobjdump, curand and cublas of the same CUDA release.",
)
def complete(context: Context) -> Iterator[Finding]:
    """Whether the toolkit has what kernels compiled in a running server include and load.

    nvcc alone does not suffice: FlashInfer includes nvrtc.h and the headers of curand and cublas,
    and DeepGEMM calls cuobjdump. vLLM's own image installs them for this.
    """
    if not context.target.serves:
        return
    toolkit = runtime_toolkit(context, "flashinfer")
    if toolkit is None or not toolkit.nvcc_version:
        return
    gone = toolkit.missing_jit
    yield Finding(
        "jit.toolkit.complete",
        "warn" if gone else "pass",
        f"{toolkit.root} lacks {len(gone)} of the files that run-time compilation needs"
        if gone
        else "the toolkit has what run-time compilation needs",
        found=f"missing: {', '.join(gone)}" if gone else "complete",
        expected="nvcc, cuobjdump, nvrtc, headers of curand and cublas",
        evidence=(Evidence(", ".join(gone) or "all there", toolkit.root),),
        source=(stack.rule("jit.files").source,),
        remedy=remedies.install_toolkit(toolkit.release or context.release.main_cuda.value)
        if gone
        else None,
    )


@check(
    "jit.toolkit.consumers",
    "toolkits of the server",
    reads=("toolkits",),
    reports=("vllm-project/perf-eval#52", "vllm-project/vllm#26642", "vllm-project/vllm#43954"),
    fix="Set CUDA_HOME to one toolkit for the server.",
)
def consumers(context: Context) -> Iterator[Finding]:
    """Whether all that compile in a running server take one toolkit.

    FlashInfer, DeepGEMM and torch have one rule. TileLang takes the nvcc of pip's wheels before
    /usr/local/cuda, so that one server may compile with two toolkits.
    """
    if not context.target.serves:
        return
    toolkits = context.need("toolkits", context.snapshot.toolkits)
    picks = toolkits.picks.runtime
    if not picks:
        return
    good = len(set(picks.values())) == 1
    named = ", ".join(f"{_TITLES.get(name, name)}: {root}" for name, root in picks.items())
    wanted = selection.toolkit(context)
    yield Finding(
        "jit.toolkit.consumers",
        "pass" if good else "warn",
        "what compiles in a running server takes one toolkit"
        if good
        else "a server here compiles with several toolkits",
        found=named,
        expected="one toolkit",
        evidence=tuple(
            Evidence(root, f"what {_TITLES.get(name, name)} takes") for name, root in picks.items()
        ),
        source=(stack.rule("flashinfer.nvcc").source, stack.rule("tilelang.nvcc").source),
        remedy=None if good or wanted is None else remedies.use_toolkit(wanted.root),
    )
