"""What a compiler and the processes that it started use right now."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.probes import files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_PROC = Path("/proc")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")

# The name of a program may hold blanks and parentheses: it ends at the last one.
_STAT = re.compile(r"\d+ \((?P<name>.*)\) (?P<rest>.*)", re.DOTALL)

# Fields of /proc/PID/stat after the name, see proc(5): the parent is the 4th of all.
_PARENT, _TIMES = 1, slice(11, 15)


@dataclass(frozen=True)
class Process:
    """One process.

    Attributes:
        parent: Process id of its parent.
        cpu_seconds: Of itself and of the children that it has waited for.
    """

    pid: int
    parent: int
    name: str
    cpu_seconds: float


@dataclass(frozen=True)
class Use:
    """What a tree of processes uses.

    Attributes:
        memory: Bytes that only its end gives back.
        cpu_seconds: Used so far, ended processes included.
        programs: Names of its processes.
    """

    memory: int
    cpu_seconds: float
    programs: frozenset[str]


def parse_stat(text: str) -> Process | None:
    """Read ``/proc/PID/stat``; ``None`` for text that is none."""
    match = _STAT.fullmatch(text.strip())
    fields = match["rest"].split() if match is not None else []
    try:
        times = [int(each) for each in fields[_TIMES]]
        if match is None or len(times) != 4:
            return None
        pid = int(text.partition(" ")[0])
        return Process(pid, int(fields[_PARENT]), match["name"], sum(times) / _TICKS)
    except ValueError:
        return None


def parse_private(text: str) -> int:
    """Return from ``/proc/PID/statm`` the bytes that are no pages of a file."""
    fields = text.split()
    try:
        return max(int(fields[1]) - int(fields[2]), 0) * _PAGE
    except (IndexError, ValueError):
        return 0


def parse_proportional(text: str) -> int | None:
    """Return ``Pss`` of ``/proc/PID/smaps_rollup`` in bytes, ``None`` where it is not told."""
    match = re.search(r"^Pss: +(\d{1,15}) kB$", text, re.MULTILINE)
    return int(match[1]) << 10 if match is not None else None


def use(root: int, proc: Path = _PROC, *, proportional: bool = False) -> Use:
    """Return what a process and everything below it uses.

    Args:
        proportional: Count pages by how many share them (PSS), as measuring wants it; slower.
    """
    memory, cpu, programs = 0, 0.0, set()
    for process in tree(root, proc):
        cpu += process.cpu_seconds
        programs.add(process.name)
        directory = proc / str(process.pid)
        exact = files.read(directory / "smaps_rollup") if proportional else None
        told = parse_proportional(exact) if exact else None
        memory += told if told is not None else parse_private(files.read(directory / "statm") or "")
    return Use(memory, cpu, frozenset(programs))


def tree(root: int, proc: Path = _PROC) -> Iterator[Process]:
    """Yield a process and everything below it; nothing when it is gone."""
    first = _process(root, proc)
    if first is None:
        return
    below = _below_by_parent(proc) if _children(root, proc) is None else None
    waiting = [first]
    while waiting:
        process = waiting.pop()
        yield process
        pids = (_children(process.pid, proc) or []) if below is None else below[process.pid]
        waiting += _processes(pids, proc)


def _process(pid: int, proc: Path) -> Process | None:
    return parse_stat(files.read(proc / str(pid) / "stat") or "")


def _processes(pids: Iterable[int], proc: Path) -> Iterator[Process]:
    for pid in pids:
        process = _process(pid, proc)
        if process is not None:
            yield process


def _children(pid: int, proc: Path) -> list[int] | None:
    """Return the children of all threads, ``None`` where the kernel does not list them."""
    tasks = proc / str(pid) / "task"
    texts = [files.read(tasks / name / "children") for name in files.names(tasks)]
    if texts and all(text is None for text in texts):
        return None
    return [int(each) for text in texts if text for each in text.split() if each.isdecimal()]


def _below_by_parent(proc: Path) -> dict[int, list[int]]:
    below: dict[int, list[int]] = defaultdict(list)
    for process in _processes(map(int, filter(str.isdecimal, files.names(proc))), proc):
        below[process.parent].append(process.pid)
    return below
