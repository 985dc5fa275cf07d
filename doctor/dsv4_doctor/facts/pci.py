"""GPUs as the PCI bus shows them."""

from __future__ import annotations

from dsv4_doctor.lazy_dataclass import dataclass


@dataclass(frozen=True)
class PciRegion:
    """One base address register of a PCI function, from sysfs ``resource``.

    Attributes:
        index: 0 to 5.
        start: Physical address; 0 means that nothing was assigned.
        size: 0 for an unused register.
    """

    index: int
    start: int
    size: int
    prefetchable: bool
    wide: bool


@dataclass(frozen=True)
class PciBridge:
    """One PCI bridge between a GPU and the processor.

    Attributes:
        vendor_id: Such as ``0x8086``.
        acs: Which redirections of access control services are on, such as ``ReqRedir``; ``None``
            when its extended configuration space could not be read, which needs root.
    """

    pci: str
    vendor_id: str = ""
    device_id: str = ""
    link_speed: str | None = None
    link_speed_max: str | None = None
    link_width: int | None = None
    link_width_max: int | None = None
    acs: tuple[str, ...] | None = None


@dataclass(frozen=True)
class PciGpu:
    """One NVIDIA display or 3D controller as sysfs shows it, readable without root.

    Attributes:
        resizable_sizes: Sizes that ``resourceN_resize`` offers for the aperture, when the
            attribute exists; an absent attribute says nothing about the present size.
        driver: Kernel driver that is bound, or ``None``.
        bridges: From the one that the GPU hangs on up to the root port; none in a guest that shows
            the GPU on its root bus.
        iommu_group: Number of its IOMMU group, ``None`` without an IOMMU.
        iommu_domain: How the IOMMU treats that group: ``identity`` passes addresses through,
            ``DMA`` and ``DMA-FQ`` translate them.
    """

    pci: str
    device_id: str
    regions: tuple[PciRegion, ...]
    driver: str | None
    numa_node: int | None = None
    link_speed: str | None = None
    link_speed_max: str | None = None
    link_width: int | None = None
    link_width_max: int | None = None
    resizable_sizes: tuple[int, ...] | None = None
    bridges: tuple[PciBridge, ...] = ()
    iommu_group: str | None = None
    iommu_domain: str | None = None

    @property
    def aperture(self) -> PciRegion | None:
        """The region behind BAR1: the largest 64-bit prefetchable one, whatever its index."""
        candidates = [region for region in self.regions if region.prefetchable and region.wide]
        return max(candidates, key=lambda region: region.size, default=None)
