"""What ``nvidia-smi`` tells, whatever form it was printed in, as facts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dsv4_doctor.ingest.told import Told, ToldGpu
from dsv4_doctor.probes.gpu import parse_bus_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsv4_doctor.ingest.smi_log import Log

_DRIVER = re.compile(r"\d{3,4}\.\d{1,3}(?:\.\d{1,3})?(?![\d.])")
_CUDA = re.compile(r"\d{1,2}\.\d{1,2}(?![\d.])")
_MIB = re.compile(r"(\d{1,9})[ \t]*MiB")
# Driver models of Windows; under Linux and WSL it is "N/A".
_WINDOWS = frozenset({"WDDM", "TCC", "MCDM"})

# Paths in the text and in XML, the first that is there counts. From R610 on the driver calls its
# versions KMD and CUDA UMD, and the old names get a note in brackets behind the value.
_DRIVER_PATHS = ("kmd_version", "driver_version")
_CUDA_PATHS = ("cuda_umd_version", "cuda_version")
_MODEL_PATHS = ("driver_model/current", "driver_model/current_dm")
_MIG_PATHS = ("mig_mode/current", "mig_mode/current_mig")


def from_log(log: Log, kind: str, first: int, last: int) -> Told:
    """Return what a log of ``nvidia-smi -q`` or ``-q -x`` tells.

    A log that lists fewer GPUs than it counts, or that ends early, does not tell all GPUs.
    """
    gpus = tuple(ToldGpu(_gpu(address, values)) for address, values in log.gpus)
    attached = log.head.get("attached_gpus", "")
    cut = not log.whole or not gpus or (attached.isdecimal() and attached != str(len(gpus)))
    models = {_first(values, _MODEL_PATHS) for _, values in log.gpus}
    return Told(
        kind=kind,
        first=first,
        last=last,
        driver=driver(_first(log.head, _DRIVER_PATHS), _first(log.head, _CUDA_PATHS)),
        gpus=gpus or None,
        no_gpus=f"the text of {kind} is cut short" if cut else "",
        foreign="Windows" if models & _WINDOWS else "",
    )


def driver(version: str | None, cuda: str | None) -> dict[str, Any]:
    """Return the versions of driver and CUDA as far as they are versions."""
    found = _DRIVER.match(version or ""), _CUDA.match(cuda or "")
    return {name: match[0] for name, match in zip(("nvml", "cuda"), found, strict=True) if match}


def size(text: str | None) -> int | None:
    """Return bytes of ``81559 MiB``; ``N/A`` and ``Not Supported`` are no size."""
    match = _MIB.fullmatch((text or "").strip())
    return int(match[1]) << 20 if match else None


def switch(text: str | None) -> bool | None:
    """Return whether something is ``Enabled``, ``None`` when neither that nor ``Disabled``."""
    return {"enabled": True, "disabled": False}.get((text or "").strip().lower())


def _gpu(address: str, values: Mapping[str, str]) -> dict[str, Any]:
    told = {
        "name": values.get("product_name"),
        "pci": parse_bus_id(address),
        "memory": size(values.get("fb_memory_usage/total")),
        "bar1": size(values.get("bar1_memory_usage/total")),
        "mig": switch(_first(values, _MIG_PATHS)),
    }
    return {name: value for name, value in told.items() if value is not None}


def _first(values: Mapping[str, str], paths: tuple[str, ...]) -> str | None:
    return next((values[path] for path in paths if path in values), None)
