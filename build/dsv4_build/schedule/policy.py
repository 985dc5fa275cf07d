"""Which units run: a pure function of what runs, what waits and what memory there is.

The server and the simulation call the same function, so that what is simulated is what happens.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
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

# Part of the memory from which on, if all processors worked, units are mixed by what they need.
MIXED = 0.6

# Units that take this part of the time that is left, or more, start before all others.
LONG = 0.5

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
    present = _Present(active, memory)
    if expected_free < memory.guard and running:
        return _relieve(active, paused, present)
    held = _hold(present)
    if held.pause:
        return held
    if paused:
        return _resume(paused, present)
    return _admit(waiting, present, jobs, now)


class _Present:
    """What runs, and what it will take; worked out when it is asked for."""

    def __init__(self, active: Sequence[Running], memory: Memory) -> None:
        self.active, self.memory = active, memory
        held = sum(unit.progress.memory for unit in active)
        self.room = float(memory.free + held - memory.guard)
        # Bytes that would be left if every unit had its peak at once.
        self.slack = self.room - sum(_most(unit) for unit in active)

    @cached_property
    def outlooks(self) -> list[Outlook]:
        """The outlook of each unit."""
        return [outlook(unit.expected, unit.progress) for unit in self.active]

    @cached_property
    def demand(self) -> Demand:
        """The sum of them."""
        demand = Demand()
        for each in self.outlooks:
            demand.add(each)
        return demand


def _most(unit: Running) -> float:
    return max(unit.expected.most, float(unit.progress.peak))


def _relieve(active: Sequence[Running], paused: Sequence[Running], present: _Present) -> Decision:
    """Stop what grows, or give up what has done least, before the kernel chooses."""
    short = present.memory.free < present.memory.guard / 2
    if len(active) > 1:
        growth = {
            unit.unit: own.growth(unit.progress.memory, SOON)
            for unit, own in zip(active, present.outlooks, strict=True)
        }
        growing = sorted(growth, key=lambda number: growth[number])
        # The one that grows least goes on: its end is what gives memory back.
        stop = growing[1:] if short else growing[-1:]
        return Decision(pause=dict.fromkeys(stop, "memory runs short"))
    if not active:
        return _resume(paused, present)
    if paused and short and active[0].growth >= 0:
        victim = min(paused, key=lambda unit: unit.progress.cpu_seconds)
        return Decision(evict={victim.unit: "the others need its memory to end"})
    return _NOTHING


def _hold(present: _Present) -> Decision:
    """Stop units that hold little yet, when what all will take soon does not fit.

    One that stands still before it grows costs no more than one that was not started, so that
    units may be started on what is likely, and not only on what is certain.
    """
    if len(present.active) < 2 or present.slack >= 0:
        return _NOTHING
    room, demand = present.room, present.demand
    pause: dict[int, str] = {}
    young = zip(present.active, present.outlooks, strict=True)
    for unit, own in sorted(young, key=lambda each: each[0].progress.cpu_seconds):
        if demand.fits(room, stop=_SOON_INDEX) or len(pause) == len(present.active) - 1:
            break
        held = unit.progress.memory
        if unit.alone or held > HELD * unit.expected.peak or own.growth(held, SOON) <= held:
            continue
        demand = demand.without(own)
        room -= held
        pause[unit.unit] = "there is no room for its growth yet"
    return Decision(pause=pause)


def _resume(paused: Sequence[Running], present: _Present) -> Decision:
    ordered = sorted(paused, key=lambda unit: -unit.progress.cpu_seconds)
    if not present.active:
        return Decision(resume={ordered[0].unit: "nothing else runs"})
    # More room than was missing, so that it is not stopped again at once.
    room = present.room - present.memory.guard / 2
    for unit in ordered:
        grown = present.demand.with_(outlook(unit.expected, unit.progress))
        if grown.fits(room + unit.progress.memory, stop=_LATER_INDEX):
            return Decision(resume={unit.unit: "there is room again"})
    return _NOTHING


def _admit(waiting: Sequence[Waiting], present: _Present, jobs: int, now: float) -> Decision:
    active = present.active
    if not waiting or len(active) >= jobs or any(unit.alone for unit in active):
        return _NOTHING
    lonely = [unit for unit in waiting if unit.alone]
    if lonely:
        if active:
            return _NOTHING
        return Decision(admit={lonely[0].unit: "alone, as the kernel killed it before"})
    ordered = _ordered(waiting, present, jobs)
    filling = _Filling(present)
    if not active:
        filling.take(ordered.pop(0), "nothing else runs")
    if not present.memory.stalled:
        filling.fill(ordered, jobs - len(active), now)
    return Decision(admit=filling.admit)


def _ordered(waiting: Sequence[Waiting], present: _Present, jobs: int) -> list[Waiting]:
    """Return what waits, the longest first; where memory is short, in an even mixture.

    Were all that need little memory done first, because they take long, those that need much would
    be left, and processors idle. So the next is one that needs more than the average of all that
    is left when what runs needs less, and the other way round.
    """
    longest = sorted(waiting, key=lambda unit: (-unit.expected.seconds, unit.unit))
    left = [unit.expected for unit in waiting] + [unit.expected for unit in present.active]
    seconds = sum(each.seconds for each in left)
    mean = sum(each.seconds * each.mean for each in left) / seconds
    if mean * jobs < MIXED * present.room or not present.active:
        return longest
    needs = sum(unit.expected.mean for unit in present.active) / len(present.active)
    critical = LONG * seconds / jobs
    return sorted(
        longest,
        key=lambda unit: (
            unit.expected.seconds < critical,
            (unit.expected.mean >= mean) != (needs < mean),
        ),
    )


class _Filling:
    """Admits units one after the other, each with those before it."""

    def __init__(self, present: _Present) -> None:
        self.admit: dict[int, str] = {}
        self._present, self._slack = present, present.slack
        self._taken: list[Waiting] = []
        self._kept: tuple[Outlook, int] | None = None
        self._outlooks: dict[_Kind, Outlook] = {}

    def take(self, unit: Waiting, because: str) -> None:
        """Admit a unit."""
        self.admit[unit.unit] = because
        self._slack -= unit.expected.most
        self._taken.append(unit)

    def fill(self, ordered: Sequence[Waiting], slots: int, now: float) -> None:
        """Admit the first that fit; for one that has waited long, room is kept."""
        refused: set[_Kind] = set()
        for unit in ordered:
            if len(self.admit) >= slots or len(refused) >= KINDS:
                return
            kind = _kind(unit.expected)
            if kind in refused:
                continue
            if self._fits(unit):
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

    @property
    def _demand(self) -> Demand:
        """What runs, and what was admitted so far."""
        while self._taken:
            self._present.demand.add(self._outlook(self._taken.pop()))
        return self._present.demand

    def _fits(self, unit: Waiting) -> bool:
        if self._kept is None and unit.expected.most <= self._slack:
            return True
        grown = self._demand.with_(self._outlook(unit))
        if not grown.fits(self._present.room):
            return False
        if self._kept is None:
            return True
        late, start = self._kept
        return grown.with_(late, start).fits(self._present.room, start)

    def _start(self, own: Outlook) -> int:
        """Return the index of the first time from which on a unit would fit."""
        for index in range(len(TIMES)):
            if self._demand.with_(own, index).fits(self._present.room, index):
                return index
        return len(TIMES) - 1


# Time and peak in steps of a tenth and a thirtieth, and the curve: units that are nearly alike are
# looked at once.
_Kind: TypeAlias = "tuple[int, int, Curve]"


def _kind(expected: Expectation) -> _Kind:
    seconds = round(math.log(max(expected.seconds, 0.1)) * 10)
    return seconds, round(math.log(max(expected.peak, 1)) * 30), expected.curve
