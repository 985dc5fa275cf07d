"""GPUs as NVML sees them."""

from __future__ import annotations

from dsv4_doctor.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Gpu:
    """One GPU as NVML sees it; ``None`` is what NVML would not say.

    Attributes:
        compute_capability: Such as ``9.0``.
        memory: Frame buffer.
        bar1: Size of the BAR1 aperture.
        pci: Domain, bus, device and function, lower case, four-digit domain: ``0000:17:00.0``.
    """

    index: int
    name: str
    pci: str | None
    compute_capability: str | None
    memory: int | None
    bar1: int | None
    mig: bool | None = None
