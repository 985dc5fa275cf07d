"""NVIDIA GPUs as sysfs shows them: nothing here needs root or a driver."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.facts.pci import PciGpu, PciRegion
from dsv4_doctor.lazy_dataclass import replace
from dsv4_doctor.probes import files, pci_path

if TYPE_CHECKING:
    from dsv4_doctor.probes.registry import Request

_SYS = Path("/sys")

_NVIDIA = 0x10DE
# Display controllers of the classes VGA and 3D, whatever their programming interface.
_CLASSES = (0x0300, 0x0302)

# Flags of a resource in the kernel's include/linux/ioport.h.
_MEMORY = 0x200
_PREFETCHABLE = 0x2000
_WIDE = 0x100000

# Base address registers of a function; expansion ROM and the windows of bridges follow.
_REGISTERS = 6
_MEBIBYTE = 1 << 20


def probe(_request: Request) -> tuple[PciGpu, ...]:
    """Return every NVIDIA GPU on the PCI bus."""
    return survey()


def survey(sys: Path = _SYS) -> tuple[PciGpu, ...]:
    """Return every NVIDIA GPU on the PCI bus.

    Args:
        sys: Where sysfs is.
    """
    bus = sys / "bus/pci/devices"
    functions = (bus / name for name in sorted(files.names(bus)))
    return tuple(_gpu(each) for each in functions if _is_gpu(each))


def parse_regions(text: str) -> tuple[PciRegion, ...]:
    """Read the base address registers in ``resource``: lines of start, end and flags.

    A register that holds the upper half of a 64-bit one before it is empty.
    """
    regions = []
    for index, line in enumerate(text.splitlines()[:_REGISTERS]):
        numbers = [_number(word) for word in line.split()]
        if len(numbers) != 3 or None in numbers:
            continue
        start, end, flags = (number or 0 for number in numbers)
        memory = bool(flags & _MEMORY)
        regions.append(
            PciRegion(
                index=index,
                start=start,
                size=end - start + 1 if end > start else 0,
                prefetchable=memory and bool(flags & _PREFETCHABLE),
                wide=memory and bool(flags & _WIDE),
            )
        )
    return tuple(regions)


def parse_sizes(text: str) -> tuple[int, ...] | None:
    """Read the bitmap in ``resourceN_resize``, in which bit 0 is 1 MiB."""
    bitmap = _number(text.strip())
    if bitmap is None:
        return None
    return tuple(_MEBIBYTE << bit for bit in range(bitmap.bit_length()) if bitmap >> bit & 1)


def _is_gpu(function: Path) -> bool:
    vendor = _number(_attribute(function, "vendor") or "")
    kind = _number(_attribute(function, "class") or "")
    return vendor == _NVIDIA and kind is not None and kind >> 8 in _CLASSES


def _gpu(function: Path) -> PciGpu:
    group, domain = pci_path.iommu(function)
    bare = PciGpu(
        pci=function.name.lower(),
        device_id=_attribute(function, "device") or "",
        regions=parse_regions(files.read(function / "resource") or ""),
        driver=_driver(function),
        numa_node=_signed(_attribute(function, "numa_node")),
        bridges=pci_path.bridges(function),
        iommu_group=group,
        iommu_domain=domain,
        **pci_path.link(function),
    )
    aperture = bare.aperture
    resize = files.read(function / f"resource{aperture.index}_resize") if aperture else None
    return replace(bare, resizable_sizes=parse_sizes(resize)) if resize is not None else bare


def _attribute(function: Path, name: str) -> str | None:
    text = files.read(function / name)
    return text.strip() if text is not None else None


def _driver(function: Path) -> str | None:
    try:
        return (function / "driver").readlink().name
    except OSError:
        return None


def _signed(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch(r"-?[0-9]+", text) else None


def _number(text: str) -> int | None:
    """Read a hexadecimal number, with ``0x`` or without."""
    return int(text, 16) if re.fullmatch(r"(?:0x)?[0-9a-fA-F]{1,16}", text) else None
