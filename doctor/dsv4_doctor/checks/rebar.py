"""Resizable BAR: the BAR1 aperture against the memory of the GPU.

A GPU whose aperture is smaller than its memory computes exactly as fast: no speed-up may be
claimed for plain CUDA serving. What needs the whole memory in the aperture is traffic from
outside: peer-to-peer over PCIe, GPUDirect RDMA and storage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.citation import Source
from dsv4_doctor.report import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.facts.gpu import Gpu
    from dsv4_doctor.facts.pci import PciGpu
    from dsv4_doctor.knowledge.gpus import Bar1
    from dsv4_doctor.report import Status

_MIB = 1 << 20

_SOURCE = Source(
    "BAR1 as large as the GPU's memory, for PCIe peer-to-peer and GPUDirect RDMA",
    "open-gpu-kernel-modules",
    file="NVIDIA/open-gpu-kernel-modules#1109; NVIDIA/gdrcopy#301",
)
_BIOS = Remedy(
    'switch on "Above 4G decoding" and "Resizable BAR" (large MMIO) in the firmware; for a virtual'
    " machine, in the hypervisor's settings of the passed-through device"
)


def _mib(size: int | None) -> str:
    return f"{size // _MIB} MiB" if size is not None else "not told"


@check(
    "gpu.bar1.size",
    "BAR1 (Resizable BAR)",
    reads=("gpus", "pci"),
    reports=("tinygrad/open-gpu-kernel-modules#13", "aikitoria/open-gpu-kernel-modules#14"),
    fix="Switch on Above 4G decoding and Resizable BAR in the firmware or the hypervisor.",
)
def size(context: Context) -> Iterator[Finding]:
    """Whether BAR1 covers the GPU's memory.

    Read from NVML and from sysfs ``resource``, both without root. BAR1 is the largest 64-bit
    prefetchable region: PCI region 1 up to Ampere, region 2 on Hopper and Blackwell.
    """
    gpus = context.need("gpus", context.snapshot.gpus)
    controllers = {each.pci: each for each in context.snapshot.pci or ()}
    if not gpus:
        return
    evidence: list[Evidence] = []
    statuses: list[Status] = []
    for gpu in gpus:
        controller = controllers.get(gpu.pci or "")
        evidence += _read_from(gpu, controller)
        statuses.append(_status(gpu, controller, alone=len(gpus) == 1))
    status = next(each for each in ("fail", "warn", "unknown", "pass") if each in statuses)
    first = gpus[statuses.index(status)]
    seen = _seen(first) if status == "warn" else None
    aperture = _aperture(first, controllers.get(first.pci or ""))
    yield Finding(
        "gpu.bar1.size",
        status,
        _title(status, first, aperture),
        found=f"BAR1 {_mib(aperture)}, memory {_mib(first.memory)}",
        expected="BAR1 >= memory, for PCIe peer-to-peer and GPUDirect; a single GPU needs neither",
        evidence=tuple(evidence),
        source=(_SOURCE, *_of_this_model(first, seen)),
        remedy=_remedy(status, first, seen),
    )


def _seen(gpu: Gpu) -> Bar1 | None:
    """BAR1 of other GPUs of this model, as far as it is known."""
    # Only a GPU whose aperture is too small asks for the table.
    from dsv4_doctor.knowledge.gpus import gpu_model  # noqa: PLC0415

    model = gpu_model(gpu.name)
    return model.bar1 if model is not None else None


def _of_this_model(gpu: Gpu, seen: Bar1 | None) -> Iterator[Source]:
    if seen is not None:
        sizes = ", ".join(_mib(each) for each in seen.seen)
        for place in seen.places:
            yield place.source(f"BAR1 seen on {gpu.name}: {sizes}")


def _remedy(status: Status, gpu: Gpu, seen: Bar1 | None) -> Remedy | None:
    if status not in {"fail", "warn"}:
        return None
    if seen is not None and seen.comes == "small":
        return Remedy(
            f"none is known: no {gpu.name} was seen with a larger BAR1; keep each model on one GPU,"
            " or let traffic between GPUs go through host memory"
        )
    return _BIOS


def _aperture(gpu: Gpu, controller: PciGpu | None) -> int | None:
    if gpu.bar1 is not None:
        return gpu.bar1
    region = controller.aperture if controller is not None else None
    return region.size if region is not None else None


def _status(gpu: Gpu, controller: PciGpu | None, *, alone: bool) -> Status:
    region = controller.aperture if controller is not None else None
    if controller is not None and controller.regions and (region is None or region.start == 0):
        return "fail"
    aperture = _aperture(gpu, controller)
    if aperture is None or gpu.memory is None:
        return "unknown"
    return "pass" if aperture >= gpu.memory or alone else "warn"


def _title(status: Status, gpu: Gpu, aperture: int | None) -> str:
    if status == "fail":
        return f"GPU {gpu.index}: the firmware assigned no address to BAR1"
    if aperture is None or gpu.memory is None:
        return f"GPU {gpu.index}: BAR1 or memory size is not told"
    if aperture >= gpu.memory:
        return f"BAR1 covers the whole GPU memory ({_mib(aperture)} >= {_mib(gpu.memory)})"
    effect = (
        "no effect on a single GPU"
        if status == "pass"
        else "PCIe peer-to-peer, GPUDirect RDMA and storage cannot reach all memory"
    )
    return f"BAR1 is {_mib(aperture)} for {_mib(gpu.memory)} of memory: {effect}"


def _read_from(gpu: Gpu, controller: PciGpu | None) -> list[Evidence]:
    rows = [Evidence(f"BAR1 {_mib(gpu.bar1)}, memory {_mib(gpu.memory)}", f"NVML, GPU {gpu.index}")]
    region = controller.aperture if controller is not None else None
    if controller is not None and region is not None:
        rows.append(
            Evidence(
                f"region {region.index}: {_mib(region.size)} at {region.start:#x}",
                f"/sys/bus/pci/devices/{controller.pci}/resource",
            )
        )
    if controller is not None and controller.resizable_sizes:
        rows.append(
            Evidence(
                ", ".join(_mib(each) for each in controller.resizable_sizes),
                f"/sys/bus/pci/devices/{controller.pci}/resource*_resize, sizes on offer",
            )
        )
    return rows
