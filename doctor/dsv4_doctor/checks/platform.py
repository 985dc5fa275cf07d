"""What kind of machine this is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.report import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator


@check(
    "host.platform.target",
    "kind of machine",
    reads=("foreign",),
    fix="Run vLLM with CUDA on Linux with an NVIDIA GPU.",
)
def target(context: Context) -> Iterator[Finding]:
    """Whether vLLM with CUDA runs on this kind of machine at all.

    Its kernels are for NVIDIA GPUs under Linux. Of a machine of another kind nothing else is said.
    """
    kind = context.snapshot.foreign
    if not kind:
        return
    yield Finding(
        "host.platform.target",
        "fail",
        f"{kind} is not a target platform of vLLM with CUDA: no other check applies",
        found=kind,
        expected="Linux with an NVIDIA GPU",
        evidence=(Evidence(kind, "what the text says of itself"),),
        remedy=Remedy("look at a machine with Linux and an NVIDIA GPU"),
    )
