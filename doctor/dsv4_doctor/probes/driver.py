"""The NVIDIA kernel driver: what the kernel says of it, and what NVML says."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsv4_doctor.facts.driver import Driver
from dsv4_doctor.lazy_dataclass import dataclass
from dsv4_doctor.probes import cuda_early, cuda_library, cuda_start, fabric, files, nvml
from dsv4_doctor.probes.parallel import both

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsv4_doctor.facts.driver import CudaStart
    from dsv4_doctor.probes.registry import Request

_FILESYSTEM = Path("/")

# Kernel modules that decide whether CUDA works, or how GPUs reach each other and the network.
MODULES = frozenset(
    {
        "gdrdrv",
        "nouveau",
        "nova_core",
        "nvidia",
        "nvidia_fs",
        "nvidia_peermem",
        "nvidia_uvm",
        "vfio_pci",
    }
)
_NODE = re.compile(r"nvidia\d+|nvidiactl|nvidia-uvm|dxg|nvhost-gpu")
_MODULE_PLACES = (
    "updates/dkms",
    "updates",
    "extra",
    "extra/*",
    "weak-updates/*",
    "kernel/drivers/video",
    "kernel/drivers/video/*",
    "kernel/nvidia-*",
)
_IMEX = "dev/nvidia-caps-imex-channels"

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
    """Read the driver's own files, ask NVML, and let a child process start CUDA."""
    return survey(environ=os.environ)


def survey(filesystem: Path = _FILESYSTEM, environ: Mapping[str, str] | None = None) -> Driver:
    """Read the driver's own files, ask NVML, and let a child process start CUDA.

    Args:
        filesystem: Where ``/dev``, ``/etc``, ``/proc`` and ``/sys`` are.
        environ: Environment of the programs that would use the driver.
    """
    nodes = device_nodes(filesystem / "dev")
    answer, started = both(_ask_nvml, lambda: _start(nodes))
    version, cuda, error = answer
    proc = filesystem / "proc"
    module = parse_version(files.read(proc / "driver/nvidia/version") or "")
    libraries = cuda_library.libcuda(environ or {}, filesystem)
    channels = filesystem / _IMEX
    return Driver(
        kernel_module=module.version if module else None,
        flavour=module.flavour if module else None,
        nvml=version,
        cuda=cuda,
        nvml_error=error,
        parameters=parse_parameters(files.read(proc / "driver/nvidia/params") or ""),
        nvml_library=cuda_library.nvml_version(environ or {}, filesystem),
        libcuda=libraries,
        libcuda_link=cuda_library.link_name(libraries, filesystem),
        start=started,
        modules=parse_modules(files.read(proc / "modules") or ""),
        device_nodes=nodes,
        fabric=fabric.survey(proc, filesystem / "sys", container=_container(filesystem)),
        imex_channels=len(files.names(channels)) if files.is_directory(channels) else None,
        module_files=_module_files(filesystem) if module is None else (),
        **_log(loaded=module is not None),
    )


def _ask_nvml() -> tuple[str | None, str | None, str | None]:
    """Return the driver's version, its CUDA version, and why NVML does not answer."""
    try:
        pynvml = nvml.session()
    except nvml.NoLibraryError as caught:
        from dsv4_doctor.probes import smi  # noqa: PLC0415 - NVML answers almost everywhere

        told = smi.driver()
        return told.get("nvml"), told.get("cuda"), str(caught)
    except nvml.NvmlError as caught:
        return None, None, str(caught)
    version = nvml.ask(pynvml.nvmlSystemGetDriverVersion)
    number = nvml.ask(pynvml.nvmlSystemGetCudaDriverVersion_v2)
    return version, f"{number // 1000}.{number % 1000 // 10}" if number else None, None


def _start(nodes: Mapping[str, bool]) -> CudaStart | None:
    if not cuda_early.has_gpu(path.rpartition("/")[2] for path in nodes):
        return None
    return cuda_start.ask()


def _log(*, loaded: bool) -> dict[str, Any]:
    """Return what the kernel's log says of the driver; nothing without a driver."""
    if not loaded:
        return {}
    from dsv4_doctor.probes import kernel_log  # noqa: PLC0415

    text = kernel_log.read()
    if text is None:
        return {}
    return {"xids": kernel_log.parse_xids(text), "messages": kernel_log.parse_messages(text)}


def _module_files(filesystem: Path) -> tuple[str, ...]:
    """Return the kernel module's files where DKMS and the distributions put them."""
    root = filesystem / "lib/modules" / os.uname().release
    found = (each for place in _MODULE_PLACES for each in root.glob(f"{place}/nvidia.ko*"))
    return tuple(sorted(str(each) for each in found))


def _container(filesystem: Path) -> bool:
    from dsv4_doctor.probes import host  # noqa: PLC0415

    return host.container(filesystem) is not None


def device_nodes(dev: Path) -> dict[str, bool]:
    """Return the driver's device files, and whether this process may read and write each."""
    names = sorted(name for name in files.names(dev) if _NODE.fullmatch(name))
    return {str(dev / name): os.access(dev / name, os.R_OK | os.W_OK) for name in names}


def parse_modules(text: str) -> tuple[str, ...]:
    """Return those of the loaded kernel modules in ``/proc/modules`` that matter."""
    return tuple(sorted({line.partition(" ")[0] for line in text.splitlines()} & MODULES))


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
