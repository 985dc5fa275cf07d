"""One GPU of ``nvidia-smi -q`` or ``-q -x``: which value is which fact.

Every fact has a list of paths: the names of the text and of XML, of new drivers and of old ones.
``N/A`` and texts such as ``Requested functionality has been deprecated`` tell nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_MIB = re.compile(r"(\d{1,9})[ \t]*MiB")
_COUNT = re.compile(r"(\d{1,9})(?:x| %)?")
_FIRMWARE = re.compile(r"[0-9A-F]{2}(?:\.[0-9A-F]{2}){3,5}")
_WATTS = re.compile(r"(\d{1,5}(?:\.\d{1,3})?)[ \t]*W")
_STATE = re.compile(r"P(\d{1,2})")
_UUID = re.compile(r"(?:GPU-)?[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_WORDS = re.compile(r"[A-Z][A-Za-z0-9_ ]{1,40}")
_SWITCHES = {"enabled": True, "disabled": False, "on": True, "off": False, "yes": True, "no": False}
# NVML's number for an error without one of its own; the text has only a word for it.
_ERROR_UNKNOWN = 999


def size(text: str) -> int | None:
    """Return bytes of ``81559 MiB``."""
    match = _MIB.fullmatch(text.strip())
    return int(match[1]) << 20 if match else None


def switch(text: str) -> bool | None:
    """Return whether something is on, ``None`` when the text says neither that nor off."""
    return _SWITCHES.get(text.strip().lower())


def _count(text: str) -> int | None:
    match = _COUNT.fullmatch(text)
    return int(match[1]) if match else None


def _watts(text: str) -> float | None:
    match = _WATTS.fullmatch(text)
    return float(match[1]) if match else None


def _state(text: str) -> int | None:
    match = _STATE.fullmatch(text)
    return int(match[1]) if match else None


def _uuid(text: str) -> str | None:
    return text if _UUID.fullmatch(text) else None


def _firmware(text: str) -> str | None:
    return text if _FIRMWARE.fullmatch(text) else None


def _word(text: str) -> str | None:
    deprecated = "deprecated" in text or text == "N/A" or text.startswith("Unknown")
    return text if _WORDS.fullmatch(text) and not deprecated else None


def _result(text: str) -> int | None:
    known = _word(text)
    return None if known is None else 0 if known == "Success" else _ERROR_UNKNOWN


_LINK = ("pci/gpu_link_info/", "pci/pci_gpu_link_info/")
_FACTS: tuple[tuple[str, Callable[[str], Any], tuple[str, ...]], ...] = (
    ("name", str, ("product_name",)),
    ("brand", _word, ("product_brand",)),
    ("uuid", _uuid, ("gpu_uuid", "uuid")),
    ("vbios", _firmware, ("vbios_version",)),
    ("memory", size, ("fb_memory_usage/total",)),
    ("memory_used", size, ("fb_memory_usage/used",)),
    ("bar1", size, ("bar1_memory_usage/total",)),
    ("mig", switch, ("mig_mode/current", "mig_mode/current_mig")),
    ("persistence", switch, ("persistence_mode",)),
    ("compute_mode", _word, ("compute_mode",)),
    ("performance_state", _state, ("performance_state",)),
    ("utilization", _count, ("utilization/gpu", "utilization/gpu_util")),
    (
        "power_limit",
        _watts,
        (
            "gpu_power_readings/current_power_limit",
            "power_readings/enforced_power_limit",
            "power_readings/power_limit",
        ),
    ),
    (
        "power_limit_default",
        _watts,
        ("gpu_power_readings/default_power_limit", "power_readings/default_power_limit"),
    ),
    ("ecc", switch, ("ecc_mode/current", "ecc_mode/current_ecc")),
    (
        "remapped_rows",
        _count,
        ("remapped_rows/uncorrectable_error", "remapped_rows/remapped_row_unc"),
    ),
    ("remap_pending", switch, ("remapped_rows/pending", "remapped_rows/remapped_row_pending")),
    (
        "remap_failed",
        switch,
        ("remapped_rows/remapping_failure_occurred", "remapped_rows/remapped_row_failure"),
    ),
    (
        "retired_pages",
        _count,
        ("retired_pages/double_bit_ecc", "retired_pages/double_bit_retirement/retired_count"),
    ),
    (
        "retirement_pending",
        switch,
        ("retired_pages/pending_page_blacklist", "retired_pages/pending_retirement"),
    ),
    ("recovery_action", _word, ("gpu_recovery_action",)),
    ("display", switch, ("display_active",)),
    ("fabric_state", _word, ("fabric/state",)),
    ("fabric_status", _result, ("fabric/status",)),
    ("fabric_cluster", _uuid, ("fabric/clusteruuid",)),
    (
        "link_generation",
        _count,
        (_LINK[0] + "pcie_generation/current", _LINK[1] + "pcie_gen/current_link_gen"),
    ),
    (
        "link_generation_max",
        _count,
        (_LINK[0] + "pcie_generation/max", _LINK[1] + "pcie_gen/max_link_gen"),
    ),
    (
        "link_width",
        _count,
        (_LINK[0] + "link_width/current", _LINK[1] + "link_widths/current_link_width"),
    ),
    (
        "link_width_max",
        _count,
        (_LINK[0] + "link_width/max", _LINK[1] + "link_widths/max_link_width"),
    ),
)
# Uncorrectable errors since the driver was loaded: all parts of one of these layouts.
_UNCORRECTED = (
    ("sram_uncorrectable", "dram_uncorrectable"),
    ("sram_uncorrectable_parity", "sram_uncorrectable_sec_ded", "dram_uncorrectable"),
    ("sram_uncorrectable_parity", "sram_uncorrectable_secded", "dram_uncorrectable"),
    ("double_bit/total",),
)
# The reasons that are faults, and the headings that they stand under.
_REASONS = (
    "hw_slowdown",
    "sw_thermal_slowdown",
    "hw_thermal_slowdown",
    "hw_power_brake_slowdown",
)
_REASON_PATHS = (
    "clocks_event_reasons/",
    "clocks_throttle_reasons/",
    "clocks_event_reasons/clocks_event_reason_",
    "clocks_throttle_reasons/clocks_throttle_reason_",
)


def facts(values: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of :class:`~dsv4_doctor.facts.gpu.Gpu` that the values tell.

    ``None`` is what the driver would not say; a field that is missing does not stand in the text.
    """
    told = {
        name: convert(text) if text else None
        for name, convert, paths in _FACTS
        if (text := first(values, paths)) is not None
    }
    throttle = _throttle(values)
    return {
        **told,
        **_uncorrected(values),
        **({"throttle": throttle} if throttle is not None else {}),
    }


def first(values: Mapping[str, str], paths: tuple[str, ...]) -> str | None:
    """Return the value of the first path that is there.

    Where a whole heading does not apply, ``N/A`` stands behind it instead of values under it.
    """
    headings = (path.rpartition("/")[0] for path in paths)
    return next((values[path] for path in (*paths, *headings) if path in values), None)


def _uncorrected(values: Mapping[str, str]) -> dict[str, int | None]:
    """Return the sum of one layout, all of whose parts have to be there."""
    for parts in _UNCORRECTED:
        texts = [values.get(f"ecc_errors/volatile/{part}") for part in parts]
        if None in texts:
            continue
        counts = [_count(text or "") for text in texts]
        whole = None if None in counts else sum(count or 0 for count in counts)
        return {"ecc_uncorrected": whole}
    return {}


def _throttle(values: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the faults that are active; none only where every one of them is told."""
    told = {name: first(values, tuple(path + name for path in _REASON_PATHS)) for name in _REASONS}
    active = tuple(name for name, text in told.items() if text == "Active")
    whole = all(text in {"Active", "Not Active"} for text in told.values())
    return active if active or whole else None
