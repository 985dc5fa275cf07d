"""The memory of the GPUs: errors, replaced rows, what the kernel's log says, what is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks import severity
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.knowledge import machine
from dsv4_doctor.report import Command, Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.facts.gpu import Gpu

_GIB = 1 << 30

# Numbers of NVIDIA's list of Xid errors that mean the hardware of a GPU, with what they say.
_HARDWARE = {
    48: "double-bit ECC error",
    63: "row remapping or page retirement recorded",
    64: "row remapping or page retirement failed",
    74: "NVLink error",
    79: "GPU has fallen off the bus",
    92: "high rate of single-bit ECC errors",
    94: "contained ECC error",
    95: "uncontained ECC error",
    119: "GSP does not answer",
    120: "GSP error",
    140: "unrecovered ECC error",
    154: "the driver asks for a reset or a reboot",
}


@check(
    "gpu.memory.errors",
    "errors of the GPU's memory",
    reads=("gpus",),
    reports=("vllm-project/vllm#5222", "wtdcode/vllm-backport#62"),
    fix="Reset the GPU; replace it when errors return or no spare row is left.",
)
def errors(context: Context) -> Iterator[Finding]:
    """Whether a GPU has uncorrected memory errors, or rows that wait to be replaced.

    A program that meets such an error ends with "uncorrectable ECC error" or hangs in a
    collective. That is hardware: no setting of vLLM helps.
    """
    gpus = context.need("gpus", context.snapshot.gpus)
    told = [
        gpu
        for gpu in gpus
        if gpu.ecc_uncorrected is not None
        or gpu.remap_failed is not None
        or gpu.retirement_pending is not None
    ]
    if not told:
        return
    failing = [gpu for gpu in told if gpu.ecc_uncorrected or gpu.remap_failed]
    waiting = [gpu for gpu in told if gpu.remap_pending or gpu.retirement_pending]
    bad = failing or waiting
    yield Finding(
        "gpu.memory.errors",
        severity.serving_fault(context.target) if failing else "warn" if waiting else "pass",
        f"GPU {bad[0].index}: {_what(bad[0])}" if bad else "no uncorrected errors of GPU memory",
        found="; ".join(f"GPU {gpu.index}: {_what(gpu)}" for gpu in bad) or "none",
        expected="no uncorrected error, no row that waits for a reset",
        evidence=tuple(Evidence(_what(gpu), f"NVML, GPU {gpu.index}") for gpu in told),
        remedy=_reset(bad[0]) if bad else None,
    )


def _what(gpu: Gpu) -> str:
    rows = (
        (gpu.ecc_uncorrected, f"{gpu.ecc_uncorrected} uncorrected ECC errors"),
        (gpu.remap_failed, "row remapping failed: no spare row is left"),
        (gpu.remap_pending, "a row remapping is pending until a reset"),
        (gpu.retirement_pending, "a page retirement is pending until a reset"),
        (gpu.remapped_rows, f"{gpu.remapped_rows} rows remapped"),
        (gpu.retired_pages, f"{gpu.retired_pages} pages retired"),
    )
    return ", ".join(text for value, text in rows if value) or "no errors"


def _reset(gpu: Gpu) -> Remedy:
    if gpu.remap_failed:
        return Remedy("this is broken hardware: take the GPU out of service and replace it")
    return Remedy(
        f"end its programs and reset GPU {gpu.index} (or reboot); when errors return, the hardware"
        " is failing: replace it",
        (Command(argv=("nvidia-smi", "--gpu-reset", "-i", str(gpu.index)), root=True),),
    )


@check(
    "gpu.device.answers",
    "every GPU answers",
    reads=("gpus",),
    fix="Reset the GPU or reboot; look for Xid errors.",
)
def answers(context: Context) -> Iterator[Finding]:
    """Whether the driver opens every GPU that it counts, and asks for no reset.

    One that fell off the bus is still counted, and every program that takes all GPUs fails.
    """
    for gpu in context.snapshot.gpus or ():
        wants = gpu.recovery_action not in {None, "None"}
        if gpu.error is None and not wants:
            continue
        yield Finding(
            "gpu.device.answers",
            severity.serving_fault(context.target),
            f"GPU {gpu.index}: {gpu.error}"
            if gpu.error
            else f"GPU {gpu.index}: the driver asks for: {gpu.recovery_action}",
            found=gpu.error or f"recovery action {gpu.recovery_action}",
            expected="a GPU that answers and needs no recovery",
            evidence=(Evidence(gpu.error or str(gpu.recovery_action), f"NVML, GPU {gpu.index}"),),
            remedy=Remedy(
                "look for Xid errors in the kernel's log, then reset the GPU or reboot; if it"
                " returns, power, cooling and seating of the board are next",
                (Command(argv=("dmesg", "--level", "err,warn"), root=True),),
            ),
        )


@check(
    "gpu.log.xid",
    "GPU errors in the kernel's log",
    reads=("driver",),
    reports=("wtdcode/vllm-backport#62",),
    fix="Reset or replace the GPU before looking at software.",
)
def xids(context: Context) -> Iterator[Finding]:
    """Whether the kernel's log holds errors of a GPU's hardware since the machine started.

    A hang that looks like a fault of software, such as a call that times out between workers, is
    often a GPU that failed minutes before. Errors that a program causes itself are not counted.
    Nothing is said where the log may not be read.
    """
    driver = context.snapshot.driver
    found = (driver.xids or ()) if driver is not None else ()
    hardware = [each for each in found if each.code in _HARDWARE]
    if not hardware:
        return
    yield Finding(
        "gpu.log.xid",
        "warn",
        f"GPU {hardware[0].pci} reported Xid {hardware[0].code}: {_HARDWARE[hardware[0].code]}",
        found=", ".join(f"Xid {each.code} of {each.pci} ({each.count}x)" for each in hardware),
        expected="no error of the hardware since the machine started",
        evidence=tuple(
            Evidence(
                f"Xid {each.code}: {_HARDWARE[each.code]}, {each.count}x", f"dmesg, {each.pci}"
            )
            for each in hardware
        ),
        remedy=Remedy(
            "suspect the hardware before the software: compare remapped rows with nvidia-smi -q,"
            " reset the GPU, and replace it when errors return"
        ),
    )


@check(
    "gpu.memory.free",
    "free memory of the GPUs",
    reads=("gpus",),
    fix="End the programs that hold the memory, or lower --gpu-memory-utilization.",
)
def free(context: Context) -> Iterator[Finding]:
    """Whether somebody else holds memory that vLLM would take.

    It takes the part of each GPU that --gpu-memory-utilization says, and refuses to start when that
    is not free.
    """
    if not context.target.serves:
        return
    cited = machine.values()["gpu_memory_utilization"]
    spare = 1 - machine.number("gpu_memory_utilization")
    taken = [
        gpu
        for gpu in context.snapshot.gpus or ()
        if gpu.memory and gpu.memory_used is not None and gpu.memory_used > spare * gpu.memory
    ]
    if not taken:
        return
    yield Finding(
        "gpu.memory.free",
        "warn",
        f"GPU {taken[0].index}: {(taken[0].memory_used or 0) / _GIB:.1f} of"
        f" {(taken[0].memory or 0) / _GIB:.1f} GiB are taken",
        found=", ".join(
            f"GPU {gpu.index}: {(gpu.memory_used or 0) / _GIB:.1f} GiB taken" for gpu in taken
        ),
        expected=f"{cited.value} of it free, which vLLM takes by default",
        evidence=tuple(
            Evidence(f"{gpu.memory_used} of {gpu.memory} bytes", f"NVML, GPU {gpu.index}")
            for gpu in taken
        ),
        source=(cited.source("the part that is taken by default"),),
        remedy=Remedy(
            "see who holds it, and end that or lower --gpu-memory-utilization",
            (
                Command(
                    argv=("nvidia-smi", "--query-compute-apps=pid,name,used_memory", "--format=csv")
                ),
            ),
        ),
    )
