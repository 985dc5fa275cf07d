"""What ``nvidia-smi`` tells, whatever form it was printed in, as facts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dsv4_doctor.ingest import smi_gpu
from dsv4_doctor.ingest.told import Told, ToldGpu
from dsv4_doctor.probes.gpu import parse_bus_id

if TYPE_CHECKING:
    from dsv4_doctor.ingest.smi_log import Log

_DRIVER = re.compile(r"\d{3,4}\.\d{1,3}(?:\.\d{1,3})?(?![\d.])")
_CUDA = re.compile(r"\d{1,2}\.\d{1,2}(?![\d.])")
# Driver models of Windows; under Linux and WSL it is "N/A".
_WINDOWS = frozenset({"WDDM", "TCC", "MCDM"})

# Paths in the text and in XML, the first that is there counts. From R610 on the driver calls its
# versions KMD and CUDA UMD, and the old names get a note in brackets behind the value.
_DRIVER_PATHS = ("kmd_version", "driver_version")
_CUDA_PATHS = ("cuda_umd_version", "cuda_version")
_MODEL_PATHS = ("driver_model/current", "driver_model/current_dm")


def from_log(log: Log, kind: str, first: int, last: int) -> Told:
    """Return what a log of ``nvidia-smi -q`` or ``-q -x`` tells.

    A log that lists fewer GPUs than it counts, or that ends early, does not tell all GPUs.
    """
    gpus = tuple(
        ToldGpu(index, {**_address(address), **smi_gpu.facts(values)})
        for index, (address, values) in enumerate(log.gpus)
    )
    attached = log.head.get("attached_gpus", "")
    cut = not log.whole or not gpus or (attached.isdecimal() and attached != str(len(gpus)))
    models = {smi_gpu.first(values, _MODEL_PATHS) for _, values in log.gpus}
    return Told(
        kind=kind,
        first=first,
        last=last,
        driver=driver(smi_gpu.first(log.head, _DRIVER_PATHS), smi_gpu.first(log.head, _CUDA_PATHS)),
        gpus=gpus or None,
        no_gpus=f"the text of {kind} is cut short" if cut else "",
        foreign="Windows" if models & _WINDOWS else "",
    )


def driver(version: str | None, cuda: str | None) -> dict[str, Any]:
    """Return the versions of driver and CUDA as far as they are versions."""
    found = _DRIVER.match(version or ""), _CUDA.match(cuda or "")
    return {name: match[0] for name, match in zip(("nvml", "cuda"), found, strict=True) if match}


def _address(text: str) -> dict[str, str]:
    pci = parse_bus_id(text)
    return {"pci": pci} if pci is not None else {}
