"""The GPUs: whether there are any, and what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks import severity
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.report import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.facts.gpu import Gpu

_GIB = 1 << 30


def _describe(gpu: Gpu) -> str:
    memory = f", {gpu.memory / _GIB:.0f} GiB" if gpu.memory else ""
    capability = f", compute capability {gpu.compute_capability}" if gpu.compute_capability else ""
    return f"{gpu.name}{capability}{memory}"


@check(
    "gpu.device.present",
    "GPUs",
    reads=("gpus", "pci"),
    fix="Load the driver, give the container its GPUs, or say that it only builds: --for build.",
)
def present(context: Context) -> Iterator[Finding]:
    """Whether the driver offers GPUs, and which.

    A server needs one, and a build without ``--arch`` compiles for those that are here. None is
    no fault on a machine that only builds.
    """
    gpus = context.need("gpus", context.snapshot.gpus)
    controllers = context.snapshot.pci or ()
    if gpus:
        kinds = dict.fromkeys(_describe(gpu) for gpu in gpus)
        counted = ", ".join(
            f"{sum(_describe(gpu) == kind for gpu in gpus)} x {kind}" for kind in kinds
        )
        yield Finding(
            "gpu.device.present",
            "pass",
            counted,
            found=counted,
            expected="at least one GPU",
            evidence=tuple(
                Evidence(_describe(gpu), f"NVML, GPU {gpu.index}, {gpu.pci or 'no PCI address'}")
                for gpu in gpus
            ),
        )
        return
    status = severity.missing_for_serving(context.target)
    visible = f"{len(controllers)} on the PCI bus, none from the driver" if controllers else "none"
    yield Finding(
        "gpu.device.present",
        status,
        f"no GPU ({visible})" + (": none is needed to build" if status == "skip" else ""),
        found=visible,
        expected="at least one GPU",
        evidence=(
            Evidence("none", "NVML"),
            *(
                Evidence(f"{each.device_id}, driver {each.driver or 'none'}", each.pci)
                for each in controllers
            ),
        ),
        remedy=Remedy(
            "install or load the driver"
            if controllers
            else "run this on a machine with a GPU; in a container, start it with its GPUs"
        )
        if status != "skip"
        else None,
    )
