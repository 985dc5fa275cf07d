"""What compilations are still expected to need, at each time from now on.

A unit's memory at a time to come is uncertain in two ways: when its phases come, and how high they
are. Each unit therefore has a mean and a variance at each time, and a largest value. Means and
variances add up over units, so that thirty units need far less room than thirty peaks: all of them
at one moment is what seldom happens. Units of a kind that started together may do just that; so
there is also the sum of what they need when each takes the time that is expected of it.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from dsv4_build.schedule.curve import HIGH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsv4_build.schedule.curve import Curve

# Seconds from now that are looked at: close together at first, where much is known.
_STEP = 1.2
TIMES = (0.0, *(_STEP**step for step in range(40)))

# How far a unit's phases may come before or after their time, as fraction of it; and how far when
# it takes the time that is expected of it.
TIMING, ON_TIME = 0.2, 0.05

# Standard deviations of the sum that are kept free.
DEVIATIONS = 2.25

# Fraction of a unit's time over which its present use says something about its use then.
MEMORY_OF_USE = 0.08

# Each time, the next, and the exponent by which what is known now fades.
_STEPS = [
    (time, TIMES[index + 1] if index + 1 < len(TIMES) else _STEP * time, -time / MEMORY_OF_USE)
    for index, time in enumerate(TIMES)
]

# Times as much as it holds that a unit may need where it is: so far may it differ from its kind.
REACHED = 1.15

# A unit that had most of its peak, and whose use fell below a part of that, has it behind itself.
_FALLEN = 0.6


@dataclass(frozen=True)
class Expectation:
    """What a unit is expected to need on this machine.

    Attributes:
        seconds: CPU time.
        peak: Bytes.
        spread: How far the peak may be off, as fraction of it (one standard deviation).
        curve: Memory over the CPU time.
    """

    seconds: float
    peak: int
    spread: float
    curve: Curve

    @property
    def mean(self) -> float:
        """The mean use over its life."""
        return self.peak * self.curve.mean

    @property
    def most(self) -> float:
        """The largest use to reckon with."""
        return self.peak * (1 + self.spread)


@dataclass(frozen=True)
class Progress:
    """How far a unit is.

    Attributes:
        cpu_seconds: Used so far.
        memory: Bytes in use.
        peak: Largest number of bytes that was seen.
    """

    cpu_seconds: float = 0.0
    memory: int = 0
    peak: int = 0


@dataclass(frozen=True)
class Outlook:
    """Memory in bytes at each of :data:`TIMES`, until the next of them.

    Attributes:
        most: However early or late it is.
        on_time: The largest use, if it takes the time that is expected of it.
    """

    mean: Sequence[float]
    variance: Sequence[float]
    most: Sequence[float]
    on_time: Sequence[float]

    def growth(self, memory: int, seconds: float) -> float:
        """Return by how much the use may grow within so many seconds."""
        soon = [most for time, most in zip(TIMES, self.most, strict=True) if time <= seconds]
        return max(max(soon) - memory, 0.0)


class Demand:
    """The sum of outlooks."""

    def __init__(self) -> None:
        self._mean = [0.0] * len(TIMES)
        self._variance = [0.0] * len(TIMES)
        self._most = [0.0] * len(TIMES)
        self._on_time = [0.0] * len(TIMES)

    def add(self, outlook: Outlook) -> None:
        """Add an outlook."""
        for index in range(len(TIMES)):
            self._mean[index] += outlook.mean[index]
            self._variance[index] += outlook.variance[index]
            self._most[index] += outlook.most[index]
            self._on_time[index] += outlook.on_time[index]

    def without(self, outlook: Outlook) -> Demand:
        """Return the sum with one less, that was added before."""
        result = self._copy()
        for index in range(len(TIMES)):
            result._mean[index] -= outlook.mean[index]
            result._variance[index] = max(result._variance[index] - outlook.variance[index], 0.0)
            result._most[index] -= outlook.most[index]
            result._on_time[index] -= outlook.on_time[index]
        return result

    def with_(self, outlook: Outlook) -> Demand:
        """Return the sum with one more."""
        result = self._copy()
        result.add(outlook)
        return result

    def _copy(self) -> Demand:
        result = Demand()
        result._mean, result._variance = [*self._mean], [*self._variance]
        result._most, result._on_time = [*self._most], [*self._on_time]
        return result

    def within(self, seconds: float, deviations: float) -> float:
        """Return the most bytes that are likely in use at any time within so many seconds."""
        soon = range(bisect_right(TIMES, seconds))
        return max(min(self._likely(index, deviations), self._most[index]) for index in soon)

    def fits(
        self,
        room: float,
        start: int = 0,
        stop: int = len(TIMES),
        deviations: float = DEVIATIONS,
    ) -> bool:
        """Whether the sum stays within so many bytes, from the time of one index to another."""
        return all(
            self._most[index] <= room or self._likely(index, deviations) <= room
            for index in range(start, stop)
        )

    def fits_on_time(self, room: float, start: int = 0) -> bool:
        """Whether it does when all take the time that is expected of them, and peak in step."""
        return all(each <= room for each in self._on_time[start:])

    def _likely(self, index: int, deviations: float) -> float:
        return self._mean[index] + deviations * math.sqrt(self._variance[index])


# Mean, mean square and maximum of ranges of a curve's parts: there are few, asked for very often.
_Ranges: TypeAlias = "dict[tuple[int, int], tuple[float, float, float]]"
_ranges: dict[Curve, _Ranges] = {}


class _Levels:
    """A curve over a range of its parts, for a unit whose phases may come early or late."""

    def __init__(self, curve: Curve, floor: int, timing: float) -> None:
        self._levels, self._floor = curve.levels, floor
        self._early = len(curve.levels) / (1 + timing)
        self._late = len(curve.levels) / (1 - timing)
        self._most = 2 * len(curve.levels)
        self._known = _ranges.setdefault(curve, {})

    def between(self, begins: float, ends: float) -> tuple[float, float, float]:
        """Return mean, variance and maximum from one fraction of the unit's life to another."""
        first = min(int(max(begins * self._early, self._floor)), self._most)
        last = max(min(int(ends * self._late) + 1, self._most + 1), first + 1)
        found = self._known.get((first, last))
        if found is None:
            within, width = self._levels[first:last], last - first
            mean, square = sum(within) / width, sum(level * level for level in within) / width
            found = mean, max(square - mean * mean, 0.0), max(within, default=0.0)
            self._known[first, last] = found
        return found


def outlook(expected: Expectation, progress: Progress, start: int = 0) -> Outlook:
    """Return what a unit will need from now on.

    Args:
        start: Index of the time at which it starts; before, it needs nothing.
    """
    seconds = max(expected.seconds, 0.1)
    done, floor, peak = _position(expected, progress)
    memory, spread = progress.memory, expected.spread
    any_time = _Levels(expected.curve, floor, TIMING)
    its_time = _Levels(expected.curve, floor, ON_TIME)
    mean, variance, most, on_time = ([0.0] * start for _ in range(4))
    done -= TIMES[start] / seconds
    for time, until, exponent in _STEPS[start:]:
        begins, ends = done + time / seconds, done + until / seconds
        average, deviation, top = any_time.between(begins, ends)
        known = math.exp(exponent / seconds) if memory else 0.0
        likely = average * peak
        mean.append(known * memory + (1 - known) * likely)
        variance.append((1 - known) * (deviation * peak * peak + (spread * likely) ** 2))
        most.append(max(top * peak * (1 + spread), known * memory))
        on_time.append(known * memory + (1 - known) * its_time.between(begins, ends)[2] * peak)
    return Outlook(mean, variance, most, on_time)


def _position(expected: Expectation, progress: Progress) -> tuple[float, int, int]:
    """Return how far a unit is, the part of the curve that it has reached, and its peak.

    Time alone may deceive: on a busy machine everything takes longer. What a unit that grows holds
    tells how far it is at most, and whether its use has fallen on which side of its peak it is.
    """
    curve, parts = expected.curve, len(expected.curve.levels)
    # One that takes longer than expected is about to end, each time that it is looked at.
    done = min(progress.cpu_seconds / max(expected.seconds, 0.1), 1 - TIMING / 4)
    peak = max(expected.peak, progress.peak)
    if not progress.peak or curve.behind == parts:
        return done, 0, peak
    if progress.memory >= _FALLEN * progress.peak:
        # It grows yet, and is no farther than where as much is used.
        reached = bisect_right(curve.rising, REACHED * progress.peak / max(peak, 1))
        return min(done, max(min(reached, curve.behind) - 0.5, 0) / parts), 0, peak
    late = done * parts / (1 + TIMING) > curve.behind
    if late or progress.peak >= HIGH * expected.peak:
        return done, curve.behind, progress.peak
    return done, 0, peak
