"""How much memory a compilation uses over its life."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# Parts that a life is divided into. Peaks of nvcc last from a tenth of it upwards.
BINS = 24

# Part of the peak from which on a unit is taken to have it.
HIGH = 0.85


@dataclass(frozen=True)
class Curve:
    """Memory over a life, as fractions.

    Attributes:
        levels: Largest use in each of equal parts of the CPU time, as fraction of the peak.
    """

    levels: tuple[float, ...]

    @cached_property
    def mean(self) -> float:
        """The mean of the levels."""
        return sum(self.levels) / len(self.levels)

    @cached_property
    def rising(self) -> tuple[float, ...]:
        """The largest level up to each part."""
        return tuple(accumulate(self.levels, max))

    @cached_property
    def behind(self) -> int:
        """The number of parts after which the peak is over."""
        return 1 + max(index for index, level in enumerate(self.levels) if level >= HIGH)

    def at(self, progress: float) -> float:
        """Return the level at a fraction of the CPU time; nothing is used after the end."""
        if progress >= 1:
            return 0.0
        return self.levels[max(int(progress * len(self.levels)), 0)]

    def to_json(self) -> list[int]:
        """Return the levels in percent."""
        return [round(level * 100) for level in self.levels]

    @classmethod
    def from_json(cls, percents: Sequence[float]) -> Curve:
        """Read levels in percent.

        Raises:
            ValueError: There are none, or one is outside 0 to 100.
        """
        if not percents or not all(0 <= each <= 100 for each in percents):
            msg = "a memory curve has levels from 0 to 100 percent"
            raise ValueError(msg)
        return cls(tuple(each / 100 for each in percents))


# For a unit of which nothing is known: its peak for its whole life.
FLAT = Curve((1.0,) * BINS)


@dataclass(frozen=True)
class Sample:
    """Memory in bytes when so many seconds of CPU had been used."""

    cpu_seconds: float
    memory: int


def from_samples(samples: Sequence[Sample], cpu_seconds: float) -> Curve:
    """Return the curve of a compilation that was sampled.

    A part without a sample has the larger level of its neighbours.

    Args:
        samples: In the order in which they were taken.
        cpu_seconds: Used by the whole compilation.
    """
    peak = max((sample.memory for sample in samples), default=0)
    if peak <= 0 or cpu_seconds <= 0:
        return FLAT
    times = [sample.cpu_seconds for sample in samples]
    levels: list[float] = []
    for index in range(BINS):
        first = bisect_left(times, cpu_seconds * index / BINS)
        last = bisect_right(times, cpu_seconds * (index + 1) / BINS)
        # With its neighbours: use may have been higher between two samples than at either.
        around = samples[max(first - 1, 0) : last + 1]
        levels.append(max(sample.memory for sample in around) / peak)
    return Curve(tuple(levels))


def merged(curves: Sequence[Curve]) -> Curve:
    """Return what several units of a kind use: the mean of each part, scaled to a peak of 1."""
    if not curves:
        return FLAT
    means = [
        sum(curve.at((index + 0.5) / BINS) for curve in curves) / len(curves)
        for index in range(BINS)
    ]
    peak = max(means)
    return Curve(tuple(mean / peak for mean in means)) if peak > 0 else FLAT
