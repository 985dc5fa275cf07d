"""Which units run: a pure function of what runs, what waits and what memory there is.

The server and the simulation call the same function, so that what is simulated is what happens.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from dsv4_build.schedule.outlook import TIMES, Demand, Expectation, Outlook, Progress, outlook

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsv4_build.schedule.curve import Curve

# Seconds ahead for which the growth that was just seen is taken to go on.
AHEAD = 1.0

# Seconds within which a unit's growth decides whether it is the one to stop.
SOON = 20.0

# Part of its peak up to which a unit that holds it can be stopped at little cost.
HELD = 0.35

_SOON_INDEX = next(index for index, time in enumerate(TIMES) if time > SOON)
_LATER_INDEX = next(index for index, time in enumerate(TIMES) if time > 1.5 * SOON)

# A unit that was passed over for so long (seconds, and fraction of its own time) gets the room
# that it needs kept free.
PATIENCE, PATIENCE_OF_TIME = 20.0, 0.25

# Kinds of units that are tried before the rest is taken not to fit either.
KINDS = 24


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
    if len(active) > 1:
        held = _hold(active, memory)
        if held.pause:
            return held
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


def _hold(active: Sequence[Running], memory: Memory) -> Decision:
    """Stop units that hold little yet, when what all will take soon does not fit.

    One that stands still before it grows costs no more than one that was not started, so that
    units may be started on what is likely, and not only on what is certain.
    """
    demand, room = _present(active, memory)
    pause: dict[int, str] = {}
    for unit in sorted(active, key=lambda unit: unit.progress.cpu_seconds):
        if demand.fits(room, stop=_SOON_INDEX) or len(pause) == len(active) - 1:
            break
        own = outlook(unit.expected, unit.progress)
        held = unit.progress.memory
        if unit.alone or held > HELD * unit.expected.peak or own.growth(held, SOON) <= held:
            continue
        demand.remove(own)
        room -= held
        pause[unit.unit] = "there is no room for its growth yet"
    return Decision(pause=pause)


def _resume(active: Sequence[Running], paused: Sequence[Running], memory: Memory) -> Decision:
    ordered = sorted(paused, key=lambda unit: -unit.progress.cpu_seconds)
    if not active:
        return Decision(resume={ordered[0].unit: "nothing else runs"})
    demand, room = _present(active, memory)
    for unit in ordered:
        grown = demand.with_(outlook(unit.expected, unit.progress))
        if grown.fits(room + unit.progress.memory, stop=_LATER_INDEX):
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
    filling = _Filling(*_present(active, memory))
    if not active:
        filling.take(ordered.pop(0), "nothing else runs")
    if not memory.stalled:
        filling.fill(ordered, jobs - len(active), now)
    return Decision(admit=filling.admit)


class _Filling:
    """Admits units one after the other, each with those before it."""

    def __init__(self, demand: Demand, room: float) -> None:
        self.admit: dict[int, str] = {}
        self._demand, self._room = demand, room
        self._kept: tuple[Outlook, int] | None = None
        self._outlooks: dict[_Kind, Outlook] = {}

    def take(self, unit: Waiting, because: str) -> None:
        """Admit a unit."""
        self.admit[unit.unit] = because
        self._demand.add(self._outlook(unit))

    def fill(self, ordered: Sequence[Waiting], slots: int, now: float) -> None:
        """Admit the first that fit; for one that has waited long, room is kept."""
        refused: set[_Kind] = set()
        for unit in ordered:
            if len(self.admit) >= slots or len(refused) >= KINDS:
                return
            kind = _kind(unit.expected)
            if kind in refused:
                continue
            if self._fits(self._outlook(unit)):
                self.take(unit, "it fits")
                continue
            refused.add(kind)
            patience = max(PATIENCE, PATIENCE_OF_TIME * unit.expected.seconds)
            if self._kept is None and now - unit.since > patience:
                own = self._outlook(unit)
                self._kept = own, self._start(own)

    def _outlook(self, unit: Waiting) -> Outlook:
        kind = _kind(unit.expected)
        known = self._outlooks.get(kind)
        if known is None:
            known = self._outlooks[kind] = outlook(unit.expected, Progress())
        return known

    def _fits(self, own: Outlook) -> bool:
        grown = self._demand.with_(own)
        if not grown.fits(self._room):
            return False
        if self._kept is None:
            return True
        late, start = self._kept
        return grown.with_(late, start).fits(self._room, start)

    def _start(self, own: Outlook) -> int:
        """Return the index of the first time from which on a unit would fit."""
        for index in range(len(TIMES)):
            if self._demand.with_(own, index).fits(self._room, index):
                return index
        return len(TIMES) - 1


# Time and peak in steps of a tenth and a thirtieth, and the curve: units that are nearly alike are
# looked at once.
_Kind: TypeAlias = "tuple[int, int, Curve]"


def _kind(expected: Expectation) -> _Kind:
    seconds = round(math.log(max(expected.seconds, 0.1)) * 10)
    return seconds, round(math.log(max(expected.peak, 1)) * 30), expected.curve
