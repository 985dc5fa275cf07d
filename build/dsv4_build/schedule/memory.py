"""How much memory a build can still take, by every limit that holds for it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.probes import cgroup, files
from dsv4_doctor.probes.host import parse_meminfo

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROC = Path("/proc")
_SYS = Path("/sys")
_MIB = 1 << 20

MACHINE = "machine"

# Page cache and other kernel memory that is given back before anything is killed.
_RECLAIMABLE = ("inactive_file", "active_file", "slab_reclaimable")


@dataclass(frozen=True)
class Scope:
    """One limit: the machine, or a control group.

    Attributes:
        name: ``machine``, or the group's directory.
        limit: Bytes.
        free: Bytes that can still be taken, page cache counted as free.
        kills: Processes that the kernel has killed for it so far.
        pressure: PSI ``some`` and ``full`` over ten seconds, in percent; ``None`` where the kernel
            does not tell.
        together: Whether the kernel kills all processes of the group when it kills one.
    """

    name: str
    limit: int
    free: int
    kills: int
    pressure: tuple[float, float] | None
    together: bool = False


def guard_of(limit: int) -> int:
    """Return the bytes that are kept free: what compilers may take between two looks."""
    return min(max(limit // 24, 192 * _MIB), 4096 * _MIB)


def scopes(proc: Path = _PROC, sys: Path = _SYS) -> tuple[Scope, ...]:
    """Return all limits that hold for this process; the machine's is the first."""
    found = [_machine(proc)]
    groups = cgroup.parse_membership(files.read(proc / "self/cgroup") or "")
    for directory in dict.fromkeys(cgroup.directories(sys / "fs/cgroup", groups, "memory")):
        found += _group(directory)
    return tuple(scope for scope in found if scope is not None)


def tightest(found: tuple[Scope, ...]) -> Scope | None:
    """Return the scope with the least free; ``None`` when nothing could be told."""
    return min(found, key=lambda scope: scope.free, default=None)


def parse_pressure(text: str) -> tuple[float, float] | None:
    """Read a PSI file: ``some`` and ``full``, averaged over ten seconds."""
    found = dict(re.findall(r"^(some|full) avg10=(\d{1,3}\.\d{1,4}) ", text, re.MULTILINE))
    if "some" not in found:
        return None
    return float(found["some"]), float(found.get("full", 0))


def parse_numbers(text: str) -> dict[str, int]:
    """Read lines of a name and a number, as ``memory.stat`` and ``memory.events`` have them."""
    lines = re.findall(r"^(\w+) (\d{1,20})$", text, re.MULTILINE)
    return {name: int(number) for name, number in lines}


def _machine(proc: Path) -> Scope | None:
    known = parse_meminfo(files.read(proc / "meminfo") or "")
    total, free = known.get("MemTotal"), known.get("MemAvailable")
    if total is None or free is None:
        return None
    kills = parse_numbers(files.read(proc / "vmstat", limit=1 << 20) or "").get("oom_kill", 0)
    return Scope(
        MACHINE, total, free, kills, parse_pressure(files.read(proc / "pressure/memory") or "")
    )


def _group(directory: Path) -> Iterator[Scope]:
    limits = [_number(directory / name) for name in ("memory.max", "memory.high")]
    limits.append(_number(directory / "memory.limit_in_bytes"))
    set_ = [limit for limit in limits if limit is not None]
    if not set_:
        return
    used = _number(directory / "memory.current")
    if used is None:
        used = _number(directory / "memory.usage_in_bytes") or 0
    stat = parse_numbers(files.read(directory / "memory.stat") or "")
    cache = sum(stat.get(f"total_{name}", stat.get(name, 0)) for name in _RECLAIMABLE)
    limit = min(set_)
    events = files.read(directory / "memory.events") or files.read(directory / "memory.oom_control")
    yield Scope(
        name=str(directory),
        limit=limit,
        free=max(limit - max(used - cache, 0), 0),
        kills=parse_numbers(events or "").get("oom_kill", 0),
        pressure=parse_pressure(files.read(directory / "memory.pressure") or ""),
        together=_number(directory / "memory.oom.group") == 1,
    )


def _number(path: Path) -> int | None:
    return cgroup.parse_limit(files.read(path) or "")
