"""What runs, what waits, what memory there is, and what can be done about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from dsv4_build.schedule.outlook import Demand, Expectation, Outlook, Progress, outlook

if TYPE_CHECKING:
    from collections.abc import Sequence


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

    @property
    def most(self) -> float:
        """The largest use to reckon with."""
        return max(self.expected.most, float(self.progress.peak))


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


NOTHING = Decision()


class Present:
    """What runs, and what it will take; worked out when it is asked for."""

    def __init__(self, active: Sequence[Running], memory: Memory) -> None:
        self.active, self.memory = active, memory
        self.held = sum(unit.progress.memory for unit in active)
        self.room = float(memory.free + self.held - memory.guard)
        # Bytes that would be left if every unit had its peak at once.
        self.slack = self.room - sum(unit.most for unit in active)

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
