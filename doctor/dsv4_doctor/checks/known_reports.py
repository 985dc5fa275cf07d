"""Faults that people reported of just these versions on just these GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks import selection
from dsv4_doctor.checks.jit import runtime_toolkit
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.checks.untold import if_told
from dsv4_doctor.knowledge import stack
from dsv4_doctor.knowledge.model import accepts
from dsv4_doctor.report import Command, Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.knowledge.stack import Known


@check(
    "known.reports.match",
    "reported faults",
    reads=("environment", "gpus", "python", "toolkits"),
    reports=(
        "sgl-project/sglang#32830",
        "vllm-project/vllm#53320",
        "vllm-project/vllm#47130",
        "timothystewart6/vllm-gb10#27",
    ),
    fix="What the report says that helped.",
)
def match(context: Context) -> Iterator[Finding]:
    """Whether somebody reported a fault of this release, this GPU, this nvcc or this package.

    A report is a warning and no verdict: it may have been that machine. Each names the
    report, and what its readers found to help.
    """
    if not context.target.serves:
        return
    environment = context.snapshot.environment or {}
    for known in stack.reports():
        evidence = _evidence(context, known)
        if evidence and not any(name in environment for name in known.env):
            yield Finding(
                "known.reports.match",
                "warn",
                known.what,
                found="; ".join(each.what for each in evidence),
                expected="a combination without such a report",
                evidence=evidence,
                source=(known.source,),
                remedy=Remedy(known.do, (Command(env=dict(known.env)),) if known.env else ()),
            )


def _evidence(context: Context, known: Known) -> tuple[Evidence, ...]:
    """Return what of this machine and target meets the report, nothing unless all of it does."""
    if not known.is_for(context.release.name, context.target.features):
        return ()
    parts = [Evidence(f"vLLM {context.release.name}", "target")]
    for part in (_gpu(context, known), _nvcc(context, known), _package(context, known)):
        if part is None:
            return ()
        parts.extend(part)
    return tuple(parts)


def _gpu(context: Context, known: Known) -> list[Evidence] | None:
    archs = selection.wanted_archs(context)
    if known.majors and not any(arch.major in known.majors for arch in archs):
        return None
    if not known.gpu:
        return [Evidence(arch.sm, "architectures") for arch in archs] if known.majors else []
    names = [each.name for each in context.snapshot.gpus or () if known.is_for_gpu(each.name)]
    return [Evidence(names[0], "NVML")] if names else None


def _nvcc(context: Context, known: Known) -> list[Evidence] | None:
    if not known.nvcc:
        return []
    toolkit = if_told(lambda: runtime_toolkit(context, "deep-gemm"))
    if toolkit is None or not accepts(known.nvcc, toolkit.nvcc_version or ""):
        return None
    return [Evidence(f"nvcc {toolkit.nvcc_version}", toolkit.root)]


def _package(context: Context, known: Known) -> list[Evidence] | None:
    if not known.package:
        return []
    python = context.snapshot.python
    dist = if_told(lambda: python.distribution(known.package)) if python is not None else None
    if dist is None or not accepts(known.versions, dist.version):
        return None
    return [Evidence(f"{dist.name} {dist.version}", dist.location)]
