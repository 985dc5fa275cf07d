"""The installed NCCL against the GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks import remedies, selection, severity
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.knowledge import machine
from dsv4_doctor.report import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator


@check(
    "nccl.version.gpu",
    "NCCL for this GPU",
    reads=("gpus", "python"),
    reports=("NVIDIA/nccl#1637",),
    fix="Install a newer NCCL.",
)
def nccl(context: Context) -> Iterator[Finding]:
    """Whether the installed NCCL knows the workstation GPUs of the Blackwell generation.

    Releases before it ask for more shared memory than sm_120 has, and two GPUs hang.
    """
    python = context.snapshot.python
    gpus = [gpu for gpu in context.snapshot.gpus or () if gpu.compute_capability == "12.0"]
    if python is None or len(gpus) < 2 or not context.target.serves:
        return
    floor = machine.values()["nccl_sm_120"]
    for name in ("nvidia-nccl-cu12", "nvidia-nccl-cu13"):
        dist = python.distribution(name)
        if dist is None:
            continue
        good = selection.version(dist.version) >= selection.version(floor.value)
        yield Finding(
            "nccl.version.gpu",
            "pass" if good else severity.serving_fault(context.target),
            f"NCCL {dist.version} {'knows' if good else 'is too old for'} sm_120",
            found=f"{name} {dist.version}",
            expected=f">= {floor.value} for two GPUs of sm_120",
            evidence=(Evidence(dist.version, dist.location),),
            source=(floor.source(f"NCCL >= {floor.value} on sm_120"),),
            remedy=None if good else _newer(python.executable, name, floor.value),
        )


def _newer(executable: str, name: str, version: str) -> Remedy:
    return Remedy(
        "install a newer NCCL, or a torch that brings one",
        (remedies.pip_install(executable, f"{name}>={version}"),),
    )
