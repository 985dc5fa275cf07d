"""What is stopped when memory runs short, what goes on again, and what is given up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_build.schedule.outlook import TIMES, Outlook, outlook
from dsv4_build.schedule.situation import NOTHING, Decision, Present, Running

if TYPE_CHECKING:
    from collections.abc import Sequence

# Seconds for which the growth that was just seen is taken to go on, of what may be stopped.
AHEAD = 2.0

# Seconds for which what may still grow must have room when memory runs short. Stopping takes
# effect at once, so that it need not be longer.
SOON = 5.0

# Seconds within which a unit's growth decides whether it is the one to stop.
LATER = 30.0

# Seconds for which units that are young are looked at whether they will have room.
YOUNG = 20.0

# Part of its peak up to which a unit that holds it can be stopped at little cost.
HELD = 0.35

# Standard deviations that are kept free for what already runs: fewer than for what starts, as a
# processor that stands still costs more than one that starts later.
DEVIATIONS = 1.25

# Times as much memory as is at work that may stand still before some of it is given up.
STILL = 1.5

_YOUNG_INDEX = next(index for index, time in enumerate(TIMES) if time > YOUNG)
_RESUME_INDEX = next(index for index, time in enumerate(TIMES) if time > 1.5 * YOUNG)


def relieve(present: Present, paused: Sequence[Running]) -> Decision:
    """Stop what grows, or give up what has done least, before the kernel chooses.

    What is not to grow any more goes on: its end is what gives memory back.
    """
    left = max(present.memory.free - present.memory.guard / 2, 0.0)
    growth = _Growth(present)
    stop: dict[int, str] = {}
    for unit, own in sorted(growth.units, key=lambda each: -_later(*each)):
        if growth.expected <= left or len(stop) == len(present.active) - 1:
            break
        if growth.take_out(unit, own):
            stop[unit.unit] = "memory runs short"
    if stop:
        return Decision(pause=stop)
    if not present.active:
        return resume(present, paused)
    short = present.memory.free < present.memory.guard / 2
    return _evict(present, paused, needed=short and growth.expected > left)


class _Growth:
    """By how much what runs may grow soon, together.

    Of many, not each by as much as it may; of few, one that does is not made good by the others.
    """

    def __init__(self, present: Present) -> None:
        self._count = len(present.active)
        self.units = tuple(zip(present.active, present.outlooks, strict=True))
        self._demand, self._held = present.demand, float(present.held)
        self._most = sum(_soon(*each) for each in self.units)
        self._seen = sum(max(unit.growth, 0.0) for unit in present.active)

    @property
    def expected(self) -> float:
        """Bytes; no less than what was just seen, and no more than all may grow by at most."""
        likely = self._demand.within(SOON, DEVIATIONS) - self._held
        likely += (self._most - likely) / max(self._count, 1)
        return min(self._most, max(likely, AHEAD * self._seen))

    def take_out(self, unit: Running, own: Outlook) -> bool:
        """Reckon without a unit, and return whether it could have grown."""
        growth = _soon(unit, own)
        if growth > 0:
            self._count -= 1
            self._demand = self._demand.without(own)
            self._held -= unit.progress.memory
            self._most -= growth
            self._seen -= max(unit.growth, 0.0)
        return growth > 0


def _soon(unit: Running, own: Outlook) -> float:
    return max(own.growth(unit.progress.memory, SOON), AHEAD * unit.growth)


def _later(unit: Running, own: Outlook) -> float:
    return own.growth(unit.progress.memory, LATER)


def hold(present: Present) -> Decision:
    """Stop units that hold little yet, when what all will take soon does not fit.

    One that stands still before it grows costs no more than one that was not started, so that
    units may be started on what is likely, and not only on what is certain.
    """
    if len(present.active) < 2 or present.slack >= 0:
        return NOTHING
    room, demand = present.room, present.demand
    pause: dict[int, str] = {}
    young = zip(present.active, present.outlooks, strict=True)
    for unit, own in sorted(young, key=lambda each: each[0].progress.cpu_seconds):
        fits = demand.fits(room, stop=_YOUNG_INDEX, deviations=DEVIATIONS)
        if fits or len(pause) == len(present.active) - 1:
            break
        held = unit.progress.memory
        if unit.alone or held > HELD * unit.expected.peak or own.growth(held, YOUNG) <= held:
            continue
        demand = demand.without(own)
        room -= held
        pause[unit.unit] = "there is no room for its growth yet"
    return Decision(pause=pause)


def resume(present: Present, paused: Sequence[Running]) -> Decision:
    """Let the one that has done most go on when there is room, or give up another for it."""
    ordered = sorted(paused, key=lambda unit: -unit.progress.cpu_seconds)
    if not present.active:
        return Decision(resume={ordered[0].unit: "nothing else runs"})
    # More room than was missing, so that it is not stopped again at once.
    room = present.room - present.memory.guard / 2
    for unit in ordered:
        grown = present.demand.with_(outlook(unit.expected, unit.progress))
        if grown.fits(room + unit.progress.memory, stop=_RESUME_INDEX, deviations=DEVIATIONS):
            return Decision(resume={unit.unit: "there is room again"})
    return _evict(present, paused)


def _evict(present: Present, paused: Sequence[Running], *, needed: bool = False) -> Decision:
    """Give up the unit that has done least when it has to be, or most of the memory stands still.

    All of it would wait for the few that still run, one after the other: to do a minute of work
    once more is cheaper.
    """
    still = sum(unit.progress.memory for unit in paused)
    # What has just started, or gone on, may not have been seen to hold anything yet.
    many = present.held > 0 and still > STILL * present.held
    if not paused or not (many or needed):
        return NOTHING
    victim = min(paused, key=lambda unit: unit.progress.cpu_seconds)
    return Decision(evict={victim.unit: "the others need its memory to end"})
