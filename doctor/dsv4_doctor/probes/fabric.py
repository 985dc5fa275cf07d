"""NVSwitches and the fabric manager."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.facts.driver import Fabric
from dsv4_doctor.probes import files, programs
from dsv4_doctor.process import ProcessError, run

if TYPE_CHECKING:
    from collections.abc import Callable

_PROC = Path("/proc")
_SYS = Path("/sys")

_PROGRAM = "nv-fabricmanager"
# The kernel keeps 15 characters of a process's name.
_PROCESS = _PROGRAM[:15]
_NVIDIA = "0x10de"
_BRIDGE_OTHER = "0x0680"
_VERSION = r"\b\d{3,4}(?:\.\d{1,3}){1,2}\b"


def survey(
    proc: Path = _PROC,
    sys: Path = _SYS,
    *,
    container: bool = False,
    find: Callable[[str], str | None] = programs.which,
) -> Fabric | None:
    """Return the NVSwitches and what is known of the fabric manager, ``None`` without a switch.

    Args:
        proc: Where the proc file system is.
        sys: Where sysfs is.
        container: Whether this is a container, which cannot see the manager of the machine.
        find: Finds a program on PATH.
    """
    switches = _switches(proc, sys)
    if not switches:
        return None
    manager = find(_PROGRAM)
    running: bool | None = _running(proc)
    if not running and container:
        running = None
    return Fabric(switches, manager, _version(manager) if manager else None, running)


def _switches(proc: Path, sys: Path) -> int:
    # The driver lists its switches; without it they are bridges of the class "other".
    listed = files.names(proc / "driver/nvidia-nvswitch/devices")
    if listed:
        return len(listed)
    bus = sys / "bus/pci/devices"
    return sum(
        (files.read(bus / name / "class") or "").startswith(_BRIDGE_OTHER)
        and (files.read(bus / name / "vendor") or "").strip() == _NVIDIA
        for name in files.names(bus)
    )


def _running(proc: Path) -> bool:
    return any(
        (files.read(proc / name / "comm") or "").strip() == _PROCESS
        for name in files.names(proc)
        if name.isdecimal()
    )


def _version(manager: str) -> str | None:
    try:
        done = run([manager, "--version"], limit=2.0)
    except ProcessError:
        return None
    found = re.search(_VERSION, done.stdout + done.stderr)
    return found[0] if found else None
