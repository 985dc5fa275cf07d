"""What starts: the longest first, an even mixture where memory is short, and only what fits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

from dsv4_build.schedule.outlook import TIMES, Demand, Expectation, Outlook, Progress, outlook
from dsv4_build.schedule.situation import NOTHING, Decision, Present, Waiting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsv4_build.schedule.curve import Curve

# A unit that was passed over for so long (seconds, and fraction of its own time) gets the room
# that it needs kept free.
PATIENCE, PATIENCE_OF_TIME = 20.0, 0.25

# Part of the memory from which on, if all processors worked, units are mixed by what they need.
MIXED = 0.6

# Units that take this part of the time that is left, or more, start before all others.
LONG = 0.5


def admit(waiting: Sequence[Waiting], present: Present, jobs: int, now: float) -> Decision:
    """Return what starts; see :func:`dsv4_build.schedule.policy.decide`."""
    active = present.active
    if not waiting or len(active) >= jobs or any(unit.alone for unit in active):
        return NOTHING
    lonely = [unit for unit in waiting if unit.alone]
    if lonely:
        if active:
            return NOTHING
        return Decision(admit={lonely[0].unit: "alone, as the kernel killed it before"})
    ordered = _ordered(waiting, present, jobs)
    filling = _Filling(present)
    if not active:
        filling.take(ordered.pop(0), "nothing else runs")
    if not present.memory.stalled:
        filling.fill(ordered, jobs - len(active), now)
    return Decision(admit=filling.admit)


def _ordered(waiting: Sequence[Waiting], present: Present, jobs: int) -> list[Waiting]:
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

    def __init__(self, present: Present) -> None:
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
            if len(self.admit) >= slots:
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
                self._kept = self._later(unit.expected)

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
        if not _has_room(grown, self._present.room):
            return False
        if self._kept is None:
            return True
        late, start = self._kept
        return _has_room(grown.with_(late), self._present.room, start)

    def _later(self, expected: Expectation) -> tuple[Outlook, int]:
        """Return what a unit will need when it starts at the first time from which on it fits."""
        for start in range(1, len(TIMES)):
            own = outlook(expected, Progress(), start)
            if _has_room(self._demand.with_(own), self._present.room, start):
                break
        return own, start


def _has_room(demand: Demand, room: float, start: int = 0) -> bool:
    """Whether it fits, be all of them early or late, or none: units started together peak so."""
    return demand.fits(room, start) and demand.fits_on_time(room, start)


# Time and peak in steps of a tenth and a thirtieth, and the curve: units that are nearly alike are
# looked at once.
_Kind: TypeAlias = "tuple[int, int, Curve]"


def _kind(expected: Expectation) -> _Kind:
    seconds = round(math.log(max(expected.seconds, 0.1)) * 10)
    return seconds, round(math.log(max(expected.peak, 1)) * 30), expected.curve
