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
        error: Why the driver would not open this GPU, such as that it is lost.
        uuid: Such as ``GPU-...``.
        vbios: Version of the board's firmware, such as ``96.00.A5.00.01``.
        brand: As ``nvidia-smi -q`` writes it: ``GeForce``, ``Tesla``, ``Quadro RTX``, ``NVIDIA``.
        memory_used: What all processes and the driver hold of the memory.
        persistence: Whether the driver keeps the GPU initialised when nobody uses it.
        compute_mode: ``Default``, ``Exclusive_Process`` or ``Prohibited``.
        performance_state: 0 for the fastest, 8 and up when idle.
        utilization: Percent of the last sample period in which a kernel ran.
        power_limit: Watts that are in force.
        power_limit_default: Watts that the board came with.
        throttle: Reasons for lower clocks now, of those that are faults: ``hw_slowdown``,
            ``hw_thermal_slowdown``, ``hw_power_brake_slowdown``, ``sw_thermal_slowdown``.
        ecc: Whether error correction is on.
        ecc_uncorrected: Errors since the driver was loaded that could not be corrected.
        remapped_rows: Rows of memory that were replaced after an uncorrectable error.
        remap_pending: Whether a replacement waits for a reset of the GPU.
        remap_failed: Whether no spare row was left.
        retired_pages: Pages of memory given up after double-bit errors, on GPUs before Ampere.
        retirement_pending: Whether giving one up waits for a reset.
        recovery_action: What the driver asks for: ``None``, ``GPU Reset``, ``Node Reboot``, ...
        display: Whether a display is attached and initialised on it.
        nvlinks: Whether each NVLink that the GPU has is up; empty without NVLink.
        fabric_state: Registration with the NVSwitch fabric: ``Not Supported``, ``Not Started``,
            ``In Progress`` or ``Completed``.
        fabric_status: Result of that registration, 0 for success.
        fabric_cluster: UUID of a multi-node NVLink domain; ``None`` or zeros outside of one.
        link_generation: Of PCIe, now; it falls when the GPU is idle.
        link_generation_max: What GPU and slot can do together.
        link_width: Lanes in use.
        link_width_max: Lanes that the GPU has.
    """

    index: int
    name: str
    pci: str | None
    compute_capability: str | None
    memory: int | None
    bar1: int | None
    mig: bool | None = None
    error: str | None = None
    uuid: str | None = None
    brand: str | None = None
    memory_used: int | None = None
    persistence: bool | None = None
    compute_mode: str | None = None
    performance_state: int | None = None
    utilization: int | None = None
    power_limit: float | None = None
    power_limit_default: float | None = None
    throttle: tuple[str, ...] | None = None
    ecc: bool | None = None
    ecc_uncorrected: int | None = None
    remapped_rows: int | None = None
    remap_pending: bool | None = None
    remap_failed: bool | None = None
    retired_pages: int | None = None
    retirement_pending: bool | None = None
    recovery_action: str | None = None
    display: bool | None = None
    nvlinks: tuple[bool, ...] = ()
    fabric_state: str | None = None
    fabric_status: int | None = None
    fabric_cluster: str | None = None
    vbios: str | None = None
    link_generation: int | None = None
    link_generation_max: int | None = None
    link_width: int | None = None
    link_width_max: int | None = None
