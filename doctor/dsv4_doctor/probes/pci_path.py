"""Links and the bridges above a PCI function, its IOMMU group, and access control services."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dsv4_doctor.facts.pci import PciBridge
from dsv4_doctor.probes import files

if TYPE_CHECKING:
    from pathlib import Path

_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", re.IGNORECASE)

# What some kernels write for the width of a link that they do not know.
_NO_WIDTH = 255

# PCI Express base specification: extended capabilities start here, each header names the next.
_EXTENDED = 0x100
_CONFIGURATION = 4096
_ACS = 0x000D
_ACS_CONTROL = 6
# Bits of the control register, by the names that lspci gives them; these send peer traffic up.
_CONTROLS = {0x01: "SrcValid", 0x04: "ReqRedir", 0x08: "CmpltRedir", 0x10: "UpstreamFwd"}


def bridges(function: Path) -> tuple[PciBridge, ...]:
    """Return the bridges above a function in sysfs, from the nearest to the root port."""
    above = function.resolve().parents
    return tuple(_bridge(each) for each in above if _ADDRESS.fullmatch(each.name))


def iommu(function: Path) -> tuple[str | None, str | None]:
    """Return the IOMMU group of a function and its domain type, ``None`` without an IOMMU."""
    group = function / "iommu_group"
    try:
        name = group.readlink().name
    except OSError:
        return None, None
    kind = files.read(group / "type")
    return name, kind.strip() if kind else None


def link(function: Path) -> dict[str, Any]:
    """Return speed and width of a function's link, now and at most, where the kernel knows them."""
    return {
        "link_speed": _speed(_attribute(function, "current_link_speed")),
        "link_speed_max": _speed(_attribute(function, "max_link_speed")),
        "link_width": _width(_attribute(function, "current_link_width")),
        "link_width_max": _width(_attribute(function, "max_link_width")),
    }


def parse_acs(configuration: bytes) -> tuple[str, ...] | None:
    """Read which redirections of access control services are on.

    Args:
        configuration: Configuration space of a bridge. An ordinary user sees its first 64 bytes,
            and the capability lies beyond 256.

    Returns:
        Nothing when none is on or the bridge has none; ``None`` when it was not to be seen.
    """
    if len(configuration) <= _EXTENDED:
        return None
    at = _EXTENDED
    seen: set[int] = set()
    while at not in seen and _EXTENDED <= at <= len(configuration) - 8:
        seen.add(at)
        header = int.from_bytes(configuration[at : at + 4], "little")
        if header & 0xFFFF == _ACS:
            start = at + _ACS_CONTROL
            control = int.from_bytes(configuration[start : start + 2], "little")
            return tuple(name for bit, name in _CONTROLS.items() if control & bit)
        at = header >> 20 & 0xFFC
    return ()


def _bridge(function: Path) -> PciBridge:
    return PciBridge(
        pci=function.name.lower(),
        vendor_id=_attribute(function, "vendor") or "",
        device_id=_attribute(function, "device") or "",
        acs=parse_acs(_configuration(function)),
        **link(function),
    )


def _configuration(function: Path) -> bytes:
    try:
        with (function / "config").open("rb") as file:
            return file.read(_CONFIGURATION)
    except OSError:
        return b""


def _attribute(function: Path, name: str) -> str | None:
    text = files.read(function / name)
    return text.strip() if text is not None else None


def _speed(text: str | None) -> str | None:
    return text if text and text[0].isdigit() else None


def _width(text: str | None) -> int | None:
    """Return a number of lanes; 0 and 255 mean that the kernel knows none."""
    return int(text) if text and text.isdecimal() and 0 < int(text) < _NO_WIDTH else None
