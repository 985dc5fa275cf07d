"""Settings, errors and links of one GPU, as NVML tells them."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    # Asks one function of NVML about the GPU; None for what it does not tell.
    Ask = Callable[..., Any]

# Numbers of nvml.h.
_BRANDS = {
    1: "Quadro",
    2: "Tesla",
    3: "NVS",
    4: "GRID",
    5: "GeForce",
    6: "Titan",
    7: "NVIDIA Virtual Applications",
    8: "NVIDIA Virtual PC",
    9: "NVIDIA Virtual Compute Server",
    10: "NVIDIA RTX Virtual Workstation",
    11: "NVIDIA Cloud Gaming",
    12: "Quadro RTX",
    13: "NVIDIA RTX",
    14: "NVIDIA",
    15: "GeForce RTX",
    16: "Titan RTX",
}
_COMPUTE_MODES = {0: "Default", 1: "Exclusive_Thread", 2: "Prohibited", 3: "Exclusive_Process"}
# Idle, software power cap, application and display clocks are how a healthy GPU runs.
_THROTTLE = {
    0x08: "hw_slowdown",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
}
_FABRIC_STATES = {0: "Not Supported", 1: "Not Started", 2: "In Progress", 3: "Completed"}
_RECOVERY = {
    0: "None",
    1: "GPU Reset",
    2: "Node Reboot",
    3: "Drain P2P",
    4: "Drain and Reset",
}
_RECOVERY_FIELD = 230
_LINK_COUNT_FIELD = 91
_MAX_LINKS = 36
_UNCORRECTED = 1
_SINCE_LOADED = 0
_DOUBLE_BIT = 1
_UNKNOWN_STATE = 32


def read(ask: Ask) -> dict[str, Any]:
    """Return fields of :class:`~dsv4_doctor.facts.gpu.Gpu`.

    Args:
        ask: Takes the name of a function of ``pynvml`` and its arguments after the handle.
    """
    return {**_settings(ask), **_memory(ask), **_links(ask), **_fabric(ask)}


def _settings(ask: Ask) -> dict[str, Any]:
    brand, mode = ask("nvmlDeviceGetBrand"), ask("nvmlDeviceGetComputeMode")
    recovery = _field(ask, _RECOVERY_FIELD)
    state, used = ask("nvmlDeviceGetPerformanceState"), ask("nvmlDeviceGetUtilizationRates")
    return {
        "uuid": ask("nvmlDeviceGetUUID"),
        "vbios": ask("nvmlDeviceGetVbiosVersion"),
        "brand": _BRANDS.get(brand) if brand is not None else None,
        "persistence": _flag(ask("nvmlDeviceGetPersistenceMode")),
        "compute_mode": _COMPUTE_MODES.get(mode) if mode is not None else None,
        "performance_state": state if state is not None and state < _UNKNOWN_STATE else None,
        "utilization": used.gpu if used is not None else None,
        "power_limit": _watts(ask("nvmlDeviceGetEnforcedPowerLimit")),
        "power_limit_default": _watts(ask("nvmlDeviceGetPowerManagementDefaultLimit")),
        "throttle": _throttle(ask),
        "display": _flag(ask("nvmlDeviceGetDisplayActive")),
        "recovery_action": _RECOVERY.get(recovery) if recovery is not None else None,
    }


def _memory(ask: Ask) -> dict[str, Any]:
    ecc, rows = ask("nvmlDeviceGetEccMode"), ask("nvmlDeviceGetRemappedRows")
    errors = ask("nvmlDeviceGetTotalEccErrors", _UNCORRECTED, _SINCE_LOADED)
    pages = ask("nvmlDeviceGetRetiredPages", _DOUBLE_BIT)
    return {
        "ecc": _flag(ecc[0]) if ecc is not None else None,
        "ecc_uncorrected": errors,
        "remapped_rows": rows[1] if rows is not None else None,
        "remap_pending": bool(rows[2]) if rows is not None else None,
        "remap_failed": bool(rows[3]) if rows is not None else None,
        "retired_pages": len(pages) if pages is not None else None,
        "retirement_pending": _flag(ask("nvmlDeviceGetRetiredPagesPendingStatus")),
    }


def _links(ask: Ask) -> dict[str, Any]:
    count = min(_field(ask, _LINK_COUNT_FIELD) or 0, _MAX_LINKS)
    states = [ask("nvmlDeviceGetNvLinkState", link) for link in range(count)]
    return {
        "nvlinks": tuple(bool(state) for state in states if state is not None),
        "link_generation": ask("nvmlDeviceGetCurrPcieLinkGeneration"),
        "link_generation_max": ask("nvmlDeviceGetMaxPcieLinkGeneration"),
        "link_width": ask("nvmlDeviceGetCurrPcieLinkWidth"),
        "link_width_max": ask("nvmlDeviceGetMaxPcieLinkWidth"),
    }


def _fabric(ask: Ask) -> dict[str, Any]:
    import pynvml  # noqa: PLC0415

    # An older pynvml does not know the structure.
    structure = getattr(pynvml, "c_nvmlGpuFabricInfo_v2_t", None)
    if structure is None:
        return {}
    info = structure()
    if ask("nvmlDeviceGetGpuFabricInfoV", ctypes.byref(info)) is None:
        return {}
    state = _FABRIC_STATES.get(info.state)
    return {
        "fabric_state": state,
        # The result means something only once the registration has ended.
        "fabric_status": info.status if state == "Completed" else None,
        "fabric_cluster": _uuid(bytes(info.clusterUuid)),
    }


def _uuid(data: bytes) -> str:
    text = data.ljust(16, b"\0")[:16].hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def _throttle(ask: Ask) -> tuple[str, ...] | None:
    mask = ask("nvmlDeviceGetCurrentClocksEventReasons")
    if mask is None:
        # The name of the same question before driver 535.
        mask = ask("nvmlDeviceGetCurrentClocksThrottleReasons")
    if mask is None:
        return None
    return tuple(name for bit, name in _THROTTLE.items() if mask & bit)


def _field(ask: Ask, number: int) -> int | None:
    values = ask("nvmlDeviceGetFieldValues", [number])
    if values is None or values[0].nvmlReturn != 0:
        return None
    answer: int = values[0].value.uiVal
    return answer


def _flag(value: int | None) -> bool | None:
    return bool(value) if value is not None else None


def _watts(milliwatts: int | None) -> float | None:
    return milliwatts / 1000 if milliwatts is not None else None
