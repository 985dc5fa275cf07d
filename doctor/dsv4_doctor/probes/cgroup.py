"""What a container or a service may take of the machine, by cgroup v2 or v1."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.lazy_dataclass import dataclass
from dsv4_doctor.probes import files

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROC = Path("/proc")
_SYS = Path("/sys")


@dataclass(frozen=True)
class Limits:
    """The tightest limits of a process's groups and of those above them.

    Attributes:
        cpus: Processors' worth of time, ``None`` for no limit.
        memory: Most memory, ``None`` for no limit.
        memory_free: What is left of it, the page cache counted as left.
    """

    cpus: float | None
    memory: int | None
    memory_free: int | None


def limits(proc: Path = _PROC, sys: Path = _SYS) -> Limits:
    """Return the limits of this process."""
    groups = parse_membership(files.read(proc / "self/cgroup") or "")
    mount = sys / "fs/cgroup"
    cpus: list[float] = []
    memory: list[tuple[int, int]] = []
    for directory in directories(mount, groups, "cpu"):
        quota = _cpu_quota(directory)
        if quota is not None:
            cpus.append(quota)
    for directory in directories(mount, groups, "memory"):
        limit = _memory_limit(directory)
        if limit is not None:
            memory.append((limit, max(limit - _memory_used(directory), 0)))
    return Limits(
        cpus=min(cpus, default=None),
        memory=min((limit for limit, _ in memory), default=None),
        memory_free=min((free for _, free in memory), default=None),
    )


def parse_membership(text: str) -> dict[str, str]:
    """Read ``/proc/PID/cgroup``: the group of each controller, that of version 2 under ``""``."""
    groups: dict[str, str] = {}
    for line in text.splitlines():
        fields = line.split(":", 2)
        if len(fields) == 3:
            groups.update((controller, fields[2]) for controller in fields[1].split(","))
    return groups


def parse_cpu_max(text: str) -> float | None:
    """Read ``cpu.max``: quota and period in microseconds, or ``max``."""
    match = re.fullmatch(r"(\d{1,18})\s+(\d{1,18})", text.strip())
    if match is None or not int(match[1]) or not int(match[2]):
        return None
    return int(match[1]) / int(match[2])


def parse_limit(text: str) -> int | None:
    """Read a number of bytes; ``max``, and the largest number of version 1, are no limit."""
    match = re.fullmatch(r"\d{1,20}", text.strip())
    # Version 1 rounds the largest signed number down to whole pages of 64 KiB at most.
    return int(match[0]) if match and int(match[0]) < (1 << 63) - (1 << 16) else None


def parse_cache(text: str) -> int:
    """Return the page cache in ``memory.stat`` that the kernel gives back first."""
    match = re.search(r"^(?:total_)?inactive_file (\d{1,20})$", text, re.MULTILINE)
    return int(match[1]) if match else 0


def whole(cpus: float) -> int:
    """Return how many processors a quota keeps busy: at least one."""
    return max(math.ceil(cpus), 1)


def directories(mount: Path, groups: dict[str, str], controller: str) -> Iterator[Path]:
    """Yield a process's group and those above it, for version 2 and for the controller.

    Inside a container the path may be the host's, which is not there: the mount itself is then
    the container's own group.
    """
    mounts = [(mount, groups.get("")), (mount / "unified", groups.get(""))]
    named = groups.get(controller)
    mounts.extend((each, named) for each in (mount / controller, mount / "cpu,cpuacct"))
    for root, group in mounts:
        if group is None or not files.is_directory(root):
            continue
        parts = [part for part in group.split("/") if part not in {"", ".", ".."}]
        for length in range(len(parts), -1, -1):
            yield root.joinpath(*parts[:length])


def _cpu_quota(directory: Path) -> float | None:
    text = files.read(directory / "cpu.max")
    if text is None:
        quota = files.read(directory / "cpu.cfs_quota_us")
        period = files.read(directory / "cpu.cfs_period_us")
        text = f"{quota} {period}" if quota and period else ""
    return parse_cpu_max(text)


def _memory_limit(directory: Path) -> int | None:
    text = files.read(directory / "memory.max")
    return parse_limit(text or files.read(directory / "memory.limit_in_bytes") or "")


def _memory_used(directory: Path) -> int:
    text = files.read(directory / "memory.current")
    used = parse_limit(text or files.read(directory / "memory.usage_in_bytes") or "") or 0
    return max(used - parse_cache(files.read(directory / "memory.stat") or ""), 0)
