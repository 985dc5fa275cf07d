"""The NVIDIA driver, as facts."""

from __future__ import annotations

from dataclasses import field

from dsv4_doctor.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Driver:
    """The NVIDIA kernel driver as its own interfaces describe it.

    Attributes:
        kernel_module: Version in ``/proc/driver/nvidia/version``, ``None`` when not loaded.
        flavour: ``open`` or ``proprietary`` kernel module.
        nvml: Version that NVML reports.
        cuda: Newest CUDA version of the driver, such as ``13.0``.
        nvml_error: Why NVML gave nothing: its own text.
        parameters: Selected module parameters.
    """

    kernel_module: str | None
    flavour: str | None
    nvml: str | None
    cuda: str | None
    nvml_error: str | None
    parameters: dict[str, str] = field(default_factory=dict)
