"""The operating system and its limits, as facts."""

from __future__ import annotations

from dsv4_doctor.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Host:
    """Operating system, processor and limits.

    Attributes:
        machine: As ``uname -m``: ``x86_64``, ``aarch64``.
        distribution: Identifier from os-release, such as ``ubuntu``.
        distribution_version: Such as ``24.04``.
        glibc: Version of the C library, or ``None`` when it is not glibc.
        cpus: Processors that this process may use.
        memory: Total memory.
        memory_available: What could be taken now without swapping.
        container: The container runtime's name when this is a container.
        root: Whether the doctor ran as root, which decides how remedies are written.
        numa_nodes: Nodes of memory, ``None`` when sysfs does not tell.
        wsl: Whether this is the Windows Subsystem for Linux, where the driver is that of Windows.
        tegra: Release of Jetson's Linux for Tegra, such as ``R36.3.0``; empty when it is a Jetson
            that does not tell, ``None`` when it is none.
        secure_boot: Whether the firmware lets only signed kernel modules load, ``None`` when it
            does not tell.
    """

    hostname: str
    kernel: str
    machine: str
    distribution: str
    distribution_version: str
    glibc: str | None
    cpus: int
    memory: int | None
    memory_available: int | None
    container: str | None
    root: bool = False
    numa_nodes: int | None = None
    wsl: bool = False
    tegra: str | None = None
    secure_boot: bool | None = None
