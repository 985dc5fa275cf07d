"""Which units run: a pure function of what runs, what waits and what memory there is.

The server and the simulation call the same function, so that what is simulated is what happens.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dsv4_build.schedule.outlook import TIMES, Demand, Expectation, Outlook, Progress, outlook

if TYPE_CHECKING:
    from collections.abc import Sequence

# Seconds ahead for which the growth that was just seen is taken to go on.
AHEAD = 1.0

# Seconds within which a unit's growth decides whether it is the one to stop.
SOON = 20.0

# A unit that was passed over for so long (seconds, and fraction of its own time) gets the room
# that it needs kept free.
PATIENCE, PATIENCE_OF_TIME = 20.0, 0.25


@dataclass(frozen=True)
class Waiting:
    """A unit that could start.

    Attributes:
        since: When it began to wait.
        alone: It has to run alone: the kernel killed it before.
    """

    unit: int
    expected: Expectation
    since: float
    alone: bool = False


@dataclass(frozen=True)
class Running:
    """A unit whose compiler was started.

    Attributes:
        growth: Bytes a second, as last seen.
    """

    unit: int
    expected: Expectation
    progress: Progress
    growth: float = 0.0
    paused: bool = False
    alone: bool = False


@dataclass(frozen=True)
class Memory:
    """What there is.

    Attributes:
        free: Bytes that the build can still take, of the tightest of its limits.
        guard: Bytes of them that are to stay free.
        stalled: Processes wait for memory, or the kernel had to reclaim: nothing more may start.
    """

    free: int
    guard: int
    stalled: bool = False


@dataclass(frozen=True)
class Decision:
    """What is to be done, each with its reason."""

    admit: dict[int, str] = field(default_factory=dict)
    pause: dict[int, str] = field(default_factory=dict)
    resume: dict[int, str] = field(default_factory=dict)
    evict: dict[int, str] = field(default_factory=dict)


_NOTHING = Decision()


def decide(
    running: Sequence[Running], waiting: Sequence[Waiting], memory: Memory, jobs: int, now: float
) -> Decision:
    """Return what to do now.

    Args:
        jobs: Most units that may run at a time.
        now: Seconds, on the clock of ``Waiting.since``.
    """
    active = [unit for unit in running if not unit.paused]
    paused = [unit for unit in running if unit.paused]
    expected_free = memory.free - AHEAD * sum(max(unit.growth, 0.0) for unit in active)
    if expected_free < memory.guard and running:
        return _relieve(active, paused, memory)
    if paused:
        return _resume(active, paused, memory)
    return _admit(active, waiting, memory, jobs, now)


def _relieve(active: Sequence[Running], paused: Sequence[Running], memory: Memory) -> Decision:
    """Stop what grows, or give up what has done least, before the kernel chooses."""
    if len(active) > 1:
        growing = sorted(active, key=_growth_to_come)
        # The one that grows least goes on: its end is what gives memory back.
        stop = growing[1:] if memory.free < memory.guard / 2 else growing[-1:]
        return Decision(pause={unit.unit: "memory runs short" for unit in stop})
    if not active:
        return _resume(active, paused, memory)
    if paused and memory.free < memory.guard / 2 and active[0].growth >= 0:
        victim = min(paused, key=lambda unit: unit.progress.cpu_seconds)
        return Decision(evict={victim.unit: "the others need its memory to end"})
    return _NOTHING


def _growth_to_come(unit: Running) -> float:
    return outlook(unit.expected, unit.progress).growth(unit.progress.memory, SOON)


def _resume(active: Sequence[Running], paused: Sequence[Running], memory: Memory) -> Decision:
    ordered = sorted(paused, key=lambda unit: -unit.progress.cpu_seconds)
    if not active:
        return Decision(resume={ordered[0].unit: "nothing else runs"})
    demand, room = _present(active, memory)
    for unit in ordered:
        grown = demand.with_(outlook(unit.expected, unit.progress))
        if grown.fits(room + unit.progress.memory):
            return Decision(resume={unit.unit: "there is room again"})
    return _NOTHING


def _present(active: Sequence[Running], memory: Memory) -> tuple[Demand, float]:
    demand = Demand()
    for unit in active:
        demand.add(outlook(unit.expected, unit.progress))
    held = sum(unit.progress.memory for unit in active)
    return demand, memory.free + held - memory.guard


def _admit(
    active: Sequence[Running], waiting: Sequence[Waiting], memory: Memory, jobs: int, now: float
) -> Decision:
    if not waiting or len(active) >= jobs or any(unit.alone for unit in active):
        return _NOTHING
    lonely = [unit for unit in waiting if unit.alone]
    if lonely:
        if active:
            return _NOTHING
        return Decision(admit={lonely[0].unit: "alone, as the kernel killed it before"})
    ordered = sorted(waiting, key=lambda unit: (-unit.expected.seconds, unit.unit))
    if not active:
        first = ordered.pop(0)
        admit = {first.unit: "nothing else runs"}
        demand, room = Demand(), float(memory.free - memory.guard)
        demand.add(outlook(first.expected, Progress()))
    else:
        if memory.stalled:
            return _NOTHING
        admit = {}
        demand, room = _present(active, memory)
    if not memory.stalled:
        _fill(demand, room, ordered, jobs - len(active), admit, now)
    return Decision(admit=admit)


def _fill(
    demand: Demand,
    room: float,
    ordered: Sequence[Waiting],
    slots: int,
    admit: dict[int, str],
    now: float,
) -> None:
    """Admit the longest that fit; for one that has waited long its room is kept."""
    kept: tuple[Outlook, int] | None = None
    known: dict[Expectation, Outlook] = {}
    refused: set[Expectation] = set()
    for unit in ordered:
        if len(admit) >= slots:
            return
        if unit.expected in refused:
            continue
        own = known.get(unit.expected) or outlook(unit.expected, Progress())
        known[unit.expected] = own
        grown = demand.with_(own)
        if grown.fits(room) and (kept is None or grown.with_(*kept).fits(room, kept[1])):
            admit[unit.unit] = "it fits"
            demand.add(own)
            continue
        refused.add(unit.expected)
        patience = max(PATIENCE, PATIENCE_OF_TIME * unit.expected.seconds)
        if kept is None and now - unit.since > patience:
            kept = own, _start(demand, own, room)


def _start(demand: Demand, own: Outlook, room: float) -> int:
    """Return the index of the first time from which on a unit would fit."""
    for index in range(len(TIMES)):
        if demand.with_(own, index).fits(room, index):
            return index
    return len(TIMES) - 1
