"""How GPUs reach each other, as facts."""

from __future__ import annotations

from dsv4_doctor.lazy_dataclass import dataclass, field


@dataclass(frozen=True)
class Peer:
    """Two GPUs, as NVML sees the way between them.

    Attributes:
        first: Index of one GPU.
        second: Index of the other.
        path: As ``nvidia-smi topo -m`` writes it: ``PIX``, ``PXB``, ``PHB``, ``NODE``, ``SYS``.
        read: Peer-to-peer reads: ``OK``, or NVML's reason such as ``Chipset not supported``.
        write: Peer-to-peer writes, likewise.
        nvlink: Peer-to-peer over NVLink, likewise.
    """

    first: int
    second: int
    path: str | None
    read: str | None = None
    write: str | None = None
    nvlink: str | None = None


@dataclass(frozen=True)
class Topology:
    """What lies between the GPUs of a machine.

    Attributes:
        peers: Every pair of GPUs; empty where there is only one.
        iommu_groups: How many groups the IOMMU has, 0 when it is off or absent.
        kernel_parameters: Those of the kernel's command line that bear on the IOMMU and on PCIe.
        virtual: Whether the processor says that it is a virtual machine's.
        rdma: Names of InfiniBand and RoCE adapters.
        interfaces: Names of the network interfaces.
    """

    peers: tuple[Peer, ...] = ()
    iommu_groups: int | None = None
    kernel_parameters: dict[str, str] = field(default_factory=dict)
    virtual: bool = False
    rdma: tuple[str, ...] = ()
    interfaces: tuple[str, ...] = ()
