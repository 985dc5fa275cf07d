"""The NVIDIA kernel driver: what the kernel says of it, and what NVML says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.facts.driver import Driver
from dsv4_doctor.lazy_dataclass import dataclass
from dsv4_doctor.probes import files, nvml

if TYPE_CHECKING:
    from dsv4_doctor.probes.registry import Request

_PROC = Path("/proc")

# Parameters that explain findings: the size of BAR1, firmware, peer-to-peer access, overrides.
PARAMETERS = (
    "CoherentGPUMemoryMode",
    "EnableGpuFirmware",
    "EnablePCIERelaxedOrderingMode",
    "EnableResizableBar",
    "EnableStreamMemOPs",
    "EnableUserNUMAManagement",
    "GrdmaPciTopoCheckOverride",
    "NvLinkDisable",
    "OpenRmEnableUnsupportedGpus",
    "RegistryDwords",
    "RmProfilingAdminOnly",
)

_BANNER = re.compile(r"^NVRM version:.*?(?P<open>Open )?Kernel Module(?P<rest>.*)$", re.MULTILINE)
_VERSION = re.compile(r"\b\d{3,4}\.\d{1,3}(?:\.\d{1,3})?\b")


@dataclass(frozen=True)
class KernelModule:
    """The loaded kernel module.

    Attributes:
        version: Such as ``580.159.04``.
        flavour: ``open`` or ``proprietary``.
    """

    version: str
    flavour: str


def probe(_request: Request) -> Driver:
    """Read the driver's own files and ask NVML."""
    return survey()


def survey(proc: Path = _PROC) -> Driver:
    """Read the driver's own files and ask NVML.

    Args:
        proc: Where the proc file system is.
    """
    module = parse_version(files.read(proc / "driver/nvidia/version") or "")
    parameters = parse_parameters(files.read(proc / "driver/nvidia/params") or "")
    version = cuda = error = None
    try:
        pynvml = nvml.session()
    except nvml.NvmlError as caught:
        error = str(caught)
    else:
        version = nvml.ask(pynvml.nvmlSystemGetDriverVersion)
        number = nvml.ask(pynvml.nvmlSystemGetCudaDriverVersion_v2)
        cuda = f"{number // 1000}.{number % 1000 // 10}" if number else None
    return Driver(
        kernel_module=module.version if module else None,
        flavour=module.flavour if module else None,
        nvml=version,
        cuda=cuda,
        nvml_error=error,
        parameters=parameters,
    )


def parse_version(text: str) -> KernelModule | None:
    """Read ``/proc/driver/nvidia/version``, ``None`` when it names no module.

    The banner is ``NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug ...`` or
    ``NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (builder)``; what
    follows the version is the builder's.
    """
    banner = _BANNER.search(text)
    version = _VERSION.search(banner["rest"]) if banner else None
    if banner is None or version is None:
        return None
    return KernelModule(version[0], "open" if banner["open"] else "proprietary")


def parse_parameters(text: str) -> dict[str, str]:
    """Read the selected lines ``Name: value`` of ``/proc/driver/nvidia/params``."""
    pairs = (line.partition(":") for line in text.splitlines())
    values = {name.strip(): value.strip().strip('"') for name, _, value in pairs}
    return {name: values[name] for name in PARAMETERS if name in values}
