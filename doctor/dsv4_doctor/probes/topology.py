"""How the GPUs reach each other, and what the kernel puts between them."""

from __future__ import annotations

import re
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsv4_doctor.facts.topology import Peer, Topology
from dsv4_doctor.probes import files, nvml

if TYPE_CHECKING:
    from dsv4_doctor.probes.registry import Request

_FILESYSTEM = Path("/")

# Numbers of nvml.h, with the words of nvidia-smi topo.
_PATHS = {0: "PIX", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
_STATUSES = {
    0: "OK",
    1: "Chipset not supported",
    2: "GPU not supported",
    3: "Topology not supported",
    4: "Disabled by registry key",
    5: "Not supported",
    6: "Unknown",
}
_READ, _WRITE, _NVLINK = 0, 1, 2
# More GPUs than any machine has: the questions grow with the square.
_MOST_GPUS = 32

# The start of /proc/cpuinfo holds the flags of the first processor, and costs no more to read.
_FIRST_CPU = 4096
_PARAMETER = re.compile(
    r"(?P<name>iommu|intel_iommu|amd_iommu|iommu\.\w+|pci|pcie_acs_override|kaslr|nokaslr)"
    r"(?:=(?P<value>\S*))?"
)


def probe(_request: Request) -> Topology:
    """Read what lies between the GPUs."""
    return survey()


def survey(filesystem: Path = _FILESYSTEM) -> Topology:
    """Read what lies between the GPUs.

    Args:
        filesystem: Where ``/proc`` and ``/sys`` are.
    """
    groups = filesystem / "sys/kernel/iommu_groups"
    flags = re.search(
        r"^flags\s*:.*$", files.read(filesystem / "proc/cpuinfo", _FIRST_CPU) or "", re.MULTILINE
    )
    return Topology(
        peers=_peers(),
        iommu_groups=len(files.names(groups)) if files.is_directory(groups) else None,
        kernel_parameters=parse_command_line(files.read(filesystem / "proc/cmdline") or ""),
        virtual=flags is not None and "hypervisor" in flags[0].split(),
        rdma=tuple(sorted(files.names(filesystem / "sys/class/infiniband"))),
        interfaces=tuple(sorted(files.names(filesystem / "sys/class/net"))),
    )


def parse_command_line(text: str) -> dict[str, str]:
    """Return the parameters of the kernel's command line that bear on the IOMMU and on PCIe."""
    matches = map(_PARAMETER.fullmatch, text.split())
    return {match["name"]: match["value"] or "" for match in matches if match}


def _peers() -> tuple[Peer, ...]:
    try:
        pynvml = nvml.session()
    except nvml.NvmlError:
        return ()
    count = min(nvml.ask(pynvml.nvmlDeviceGetCount) or 0, _MOST_GPUS)
    asked = [nvml.ask(partial(pynvml.nvmlDeviceGetHandleByIndex, each)) for each in range(count)]
    handles = [(index, handle) for index, handle in enumerate(asked) if handle is not None]
    return tuple(_peer(pynvml, *pair) for pair in combinations(handles, 2))


def _peer(pynvml: Any, first: tuple[int, Any], second: tuple[int, Any]) -> Peer:
    def status(kind: int) -> str | None:
        found = nvml.ask(partial(pynvml.nvmlDeviceGetP2PStatus, first[1], second[1], kind))
        return _STATUSES.get(found) if found is not None else None

    level = nvml.ask(partial(pynvml.nvmlDeviceGetTopologyCommonAncestor, first[1], second[1]))
    return Peer(
        first=first[0],
        second=second[0],
        path=_PATHS.get(level) if level is not None else None,
        read=status(_READ),
        write=status(_WRITE),
        nvlink=status(_NVLINK),
    )
