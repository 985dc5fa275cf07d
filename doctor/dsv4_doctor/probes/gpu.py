"""The GPUs as NVML sees them."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from dsv4_doctor.facts.gpu import Gpu
from dsv4_doctor.probes import gpu_health, nvml

if TYPE_CHECKING:
    from dsv4_doctor.probes.registry import Request

_BUS_ID = re.compile(r"([0-9a-f]{4,8}):([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])", re.IGNORECASE)


def probe(_request: Request) -> tuple[Gpu, ...]:
    """Return every GPU; none without a driver, which the probe of the driver tells."""
    return every()


def every() -> tuple[Gpu, ...]:
    """Return every GPU as it is now; none without a driver."""
    try:
        pynvml = nvml.session()
    except nvml.NoLibraryError:
        from dsv4_doctor.probes import smi  # noqa: PLC0415 - NVML answers almost everywhere

        return smi.gpus()
    except nvml.NvmlError:
        return ()
    count = nvml.ask(pynvml.nvmlDeviceGetCount) or 0
    return tuple(_gpu(pynvml, index) for index in range(count))


def parse_bus_id(text: str) -> str | None:
    """Return a PCI address in the form of sysfs; NVML writes ``00000000:17:00.0``."""
    match = _BUS_ID.fullmatch(text.strip())
    if match is None:
        return None
    domain, bus, device, function = match.groups()
    return f"{int(domain, 16):04x}:{bus}:{device}.{function}".lower()


def _gpu(pynvml: Any, index: int) -> Gpu:
    try:
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    except pynvml.NVMLError as error:
        # A GPU that fell off the bus is still counted; that it is there is a fact.
        return Gpu(index, f"GPU {index}: {error}", None, None, None, None, error=str(error))

    def ask(function: str, *arguments: Any) -> Any:
        # An older pynvml lacks some functions, as an older driver does.
        known = getattr(pynvml, function, None)
        return nvml.ask(partial(known, handle, *arguments)) if known is not None else None

    pci = ask("nvmlDeviceGetPciInfo")
    capability = ask("nvmlDeviceGetCudaComputeCapability")
    memory = ask("nvmlDeviceGetMemoryInfo")
    bar1 = ask("nvmlDeviceGetBAR1MemoryInfo")
    mig = ask("nvmlDeviceGetMigMode")
    return Gpu(
        index=index,
        name=ask("nvmlDeviceGetName") or f"GPU {index}",
        pci=parse_bus_id(pci.busId) if pci is not None else None,
        compute_capability=".".join(map(str, capability)) if capability is not None else None,
        memory=memory.total if memory is not None else None,
        memory_used=memory.used if memory is not None else None,
        bar1=bar1.bar1Total if bar1 is not None else None,
        mig=mig[0] == pynvml.NVML_DEVICE_MIG_ENABLE if mig is not None else None,
        **gpu_health.read(ask),
    )
