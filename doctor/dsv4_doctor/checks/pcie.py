"""The way from a GPU to the processor: lanes, speed, bridges, the node of memory."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.report import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.facts.gpu import Gpu
    from dsv4_doctor.facts.pci import PciBridge, PciGpu

_INTEL, _AMD = "0x8086", "0x1022"
# Root ports of Intel's chipsets are these devices of bus 0; those of the processor are others.
_INTEL_CHIPSET = r"[0-9a-f]{4,8}:00:1[bcd]\.\d"


def _sysfs(pci: str, names: str) -> str:
    return f"/sys/bus/pci/devices/{pci}/{names}"


def _gigatransfers(speed: str | None) -> float:
    match = re.match(r"\d+(?:\.\d+)?", speed or "")
    return float(match[0]) if match else 0.0


def _capacity(speed: str | None, width: int | None) -> float:
    return _gigatransfers(speed) * (width or 0)


@check(
    "pcie.link.width",
    "PCIe lanes of the GPUs",
    reads=("gpus", "pci"),
    fix="Take another slot, look for bifurcation in the firmware, or reseat the board.",
)
def width(context: Context) -> Iterator[Finding]:
    """Whether every GPU runs on as many PCIe lanes as it has.

    The number of lanes does not fall when a GPU is idle, as the generation does. A slot that is
    wired with fewer lanes, one that shares them with another slot, or a bad contact halve the
    bandwidth of loading weights and of traffic between GPUs.
    """
    narrow = [each for each in _widths(context) if each[1] < each[2]]
    if not narrow or not context.target.serves:
        return
    name, now, most, slot, _ = narrow[0]
    wired = slot is not None and slot <= now
    yield Finding(
        "pcie.link.width",
        "warn",
        f"{name} runs on {now} of its {most} PCIe lanes"
        + (": its slot has no more" if wired else ""),
        found=", ".join(f"{each[0]}: x{each[1]} of x{each[2]}" for each in narrow),
        expected=f"x{most}",
        evidence=tuple(Evidence(f"x{each[1]}, at most x{each[2]}", each[4]) for each in narrow),
        remedy=Remedy(
            "put the board into a slot with all lanes wired, or look for a setting of the firmware"
            " that divides them"
            if wired
            else "reseat the board and its riser; look in the firmware for lanes that are shared"
            " with another slot or an M.2 drive"
        ),
    )


def _widths(context: Context) -> Iterator[tuple[str, int, int, int | None, str]]:
    """Yield name, lanes in use, lanes of the GPU, lanes of its slot, and where that was read."""
    told = set()
    for each in context.snapshot.pci or ():
        if each.link_width and each.link_width_max:
            told.add(each.pci)
            slot = each.bridges[0].link_width_max if each.bridges else None
            where = _sysfs(each.pci, "current_link_width, max_link_width")
            yield f"GPU {each.pci}", each.link_width, each.link_width_max, slot, where
    for gpu in context.snapshot.gpus or ():
        if gpu.pci not in told and gpu.link_width and gpu.link_width_max:
            where = f"NVML, GPU {gpu.index}"
            yield f"GPU {gpu.index}", gpu.link_width, gpu.link_width_max, None, where


@check(
    "pcie.link.speed",
    "PCIe generation of the GPUs",
    reads=("gpus",),
    fix="Set the slot's generation in the firmware, and look at risers and contacts.",
)
def speed(context: Context) -> Iterator[Finding]:
    """Whether a GPU that works at this moment runs at the PCIe generation that it can.

    An idle GPU lowers it to save power, so only one that is busy is looked at.
    """
    slow = [gpu for gpu in context.snapshot.gpus or () if _slow_under_load(gpu)]
    if not slow or not context.target.serves:
        return
    gpu = slow[0]
    yield Finding(
        "pcie.link.speed",
        "warn",
        f"GPU {gpu.index} is busy, and its link runs at PCIe {gpu.link_generation}.0 of"
        f" {gpu.link_generation_max}.0",
        found=", ".join(f"GPU {each.index}: PCIe {each.link_generation}.0" for each in slow),
        expected=f"PCIe {gpu.link_generation_max}.0 under load",
        evidence=tuple(
            Evidence(
                f"{each.utilization} % busy, PCIe {each.link_generation}.0",
                f"NVML, GPU {each.index}",
            )
            for each in slow
        ),
        remedy=Remedy(
            "set the slot's generation in the firmware (not Auto); a riser or a bad contact can"
            " force a lower one: look for AER messages in the kernel's log"
        ),
    )


def _slow_under_load(gpu: Gpu) -> bool:
    return bool(
        gpu.utilization
        and gpu.performance_state == 0
        and gpu.link_generation
        and gpu.link_generation_max
        and gpu.link_generation < gpu.link_generation_max
    )


@check(
    "pcie.path.bandwidth",
    "bridges above the GPUs",
    reads=("pci",),
    reports=("noonghunna/club-3090#895",),
    fix="Put the board into a slot that is wired to the processor.",
)
def path(context: Context) -> Iterator[Finding]:
    """Whether a bridge between a GPU and the processor is slower than the GPU, or a chipset.

    ``nvidia-smi topo -m`` does not tell lanes of the chipset from those of the processor. Behind
    a chipset a GPU shares its uplink with disks and network, which halves its bandwidth without
    any error.
    """
    if not context.target.serves:
        return
    for gpu in context.snapshot.pci or ():
        reason = _through_chipset(gpu) or _bottleneck(gpu)
        if reason is None:
            continue
        yield Finding(
            "pcie.path.bandwidth",
            "warn",
            f"GPU {gpu.pci} {reason}",
            found=" -> ".join(_bridge(each) for each in gpu.bridges),
            expected="a root port of the processor with as many lanes as the GPU",
            evidence=tuple(
                Evidence(_bridge(each), _sysfs(each.pci, "max_link_speed, max_link_width"))
                for each in gpu.bridges
            ),
            remedy=Remedy(
                "put the board into a slot that is wired to the processor (the board's manual says"
                " which), and pair GPUs whose slots are"
            ),
        )


def _through_chipset(gpu: PciGpu) -> str | None:
    root = gpu.bridges[-1] if gpu.bridges else None
    if root is None:
        return None
    if root.vendor_id == _INTEL and re.fullmatch(_INTEL_CHIPSET, root.pci):
        return f"hangs on the chipset: root port {root.pci}"
    # The processor's own ports are one bridge; a switch of AMD's below one is the chipset.
    below = [each for each in gpu.bridges[:-1] if each.vendor_id == _AMD]
    if root.vendor_id == _AMD and below:
        return f"hangs on the chipset: switch {below[-1].pci} below root port {root.pci}"
    return None


def _bottleneck(gpu: PciGpu) -> str | None:
    own = _capacity(gpu.link_speed_max, gpu.link_width)
    for each in gpu.bridges[1:]:
        theirs = _capacity(each.link_speed_max, each.link_width_max)
        if theirs and own and theirs < own:
            return f"is behind a bridge that is slower than its own link: {_bridge(each)}"
    return None


def _bridge(each: PciBridge) -> str:
    width_ = f" x{each.link_width_max}" if each.link_width_max else ""
    return f"{each.pci} {each.link_speed_max or 'speed not told'}{width_}"


@check(
    "pcie.numa.node",
    "node of memory of the GPUs",
    reads=("host", "pci"),
    fix="Update the firmware, or bind workers by hand.",
)
def node(context: Context) -> Iterator[Finding]:
    """Whether the firmware tells the node of memory of each GPU on a machine that has several.

    Workers are bound to the node of their GPU; without it they may run on the other socket. A
    guest with one node of memory tells -1, and that is no fault.
    """
    host = context.snapshot.host
    controllers = context.snapshot.pci or ()
    if host is None or host.numa_nodes is None or host.numa_nodes < 2 or not context.target.serves:
        return
    lost = [each for each in controllers if each.numa_node is not None and each.numa_node < 0]
    if not lost:
        return
    yield Finding(
        "pcie.numa.node",
        "warn",
        f"the firmware does not tell the node of memory of GPU {lost[0].pci}",
        found=", ".join(f"{each.pci}: {each.numa_node}" for each in lost),
        expected=f"one of the {host.numa_nodes} nodes",
        evidence=tuple(
            Evidence(str(each.numa_node), _sysfs(each.pci, "numa_node")) for each in lost
        ),
        remedy=Remedy("update the firmware; until then bind workers with numactl"),
    )
