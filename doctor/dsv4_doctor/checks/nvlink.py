"""NVLink: the links of each GPU, and its registration with the fabric of NVSwitches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks import severity
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.report import Command, Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

_SERVICE = "nvidia-fabricmanager"


@check(
    "gpu.nvlink.state",
    "NVLinks",
    reads=("gpus",),
    fix="Reset the GPUs, look for Xid 74, and reseat the bridge.",
)
def nvlink(context: Context) -> Iterator[Finding]:
    """Whether every NVLink that a GPU has is up.

    A link that is down lowers bandwidth without an error, or ends a collective with Xid 74. Links
    that are all down on a board without its bridge are no fault.
    """
    gpus = context.snapshot.gpus or ()
    partly = [gpu for gpu in gpus if any(gpu.nvlinks) and not all(gpu.nvlinks)]
    with_links = [gpu for gpu in gpus if any(gpu.nvlinks)]
    if not with_links or not context.target.serves:
        return
    first = (partly or with_links)[0]
    down = [str(index) for index, state in enumerate(first.nvlinks) if not state]
    yield Finding(
        "gpu.nvlink.state",
        "warn" if partly else "pass",
        f"GPU {first.index}: NVLink {', '.join(down)} of {len(first.nvlinks)} is down"
        if partly
        else f"all {len(first.nvlinks)} NVLinks of every GPU are up"
        if len({len(gpu.nvlinks) for gpu in with_links}) == 1
        else "all NVLinks are up",
        found=", ".join(f"GPU {gpu.index}: {sum(gpu.nvlinks)} up" for gpu in with_links),
        expected="all up",
        evidence=tuple(
            Evidence(f"{sum(gpu.nvlinks)} of {len(gpu.nvlinks)} up", f"NVML, GPU {gpu.index}")
            for gpu in with_links
        ),
        remedy=Remedy(
            "look for Xid 74 in the kernel's log, reset the GPUs together, and reseat bridge or"
            " baseboard; some boards have links that are never used: compare with another machine"
        )
        if partly
        else None,
    )


@check(
    "gpu.fabric.state",
    "registration with the NVLink fabric",
    reads=("gpus",),
    reports=("pytorch/ci-infra#541", "ollama/ollama#12136"),
    fix="Start the fabric manager, then reset the GPU.",
)
def state(context: Context) -> Iterator[Finding]:
    """Whether every GPU on an NVSwitch has registered with the fabric.

    A GPU that has not gives error 802 in CUDA, and NVLS multicast fails in NCCL with error 401.
    """
    gpus = context.snapshot.gpus or ()
    told = [gpu for gpu in gpus if gpu.fabric_state not in {None, "Not Supported"}]
    if not told or not context.target.serves:
        return
    bad = [gpu for gpu in told if gpu.fabric_state != "Completed" or gpu.fabric_status]
    yield Finding(
        "gpu.fabric.state",
        severity.serving_fault(context.target) if bad else "pass",
        f"GPU {bad[0].index} has not registered with the NVLink fabric: {bad[0].fabric_state}"
        if bad
        else "every GPU has registered with the NVLink fabric",
        found=", ".join(f"GPU {gpu.index}: {gpu.fabric_state}" for gpu in told),
        expected="Completed, Success",
        evidence=tuple(
            Evidence(
                f"{gpu.fabric_state}, result {gpu.fabric_status or 0}", f"NVML, GPU {gpu.index}"
            )
            for gpu in told
        ),
        remedy=Remedy(
            "start the fabric manager of the driver's version; where it runs, read its log"
            " /var/log/fabricmanager.log; until then NCCL_NVLS_ENABLE=0 avoids multicast",
            (Command(argv=("systemctl", "restart", _SERVICE), root=True),),
        )
        if bad
        else None,
    )
