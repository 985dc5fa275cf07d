"""What is told of a build, whether it came to its end or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from dsv4_build.caching.statistics import Statistics
    from dsv4_build.reporting.diary import Activity, Moment

SCHEMA = "dsv4-doctor/build-report/1"

Outcome: TypeAlias = Literal["built", "failed", "interrupted"]
UnitOutcome: TypeAlias = Literal["compiled", "cached", "failed", "cut off"]


@dataclass(frozen=True)
class Span:
    """Some seconds of a unit.

    Attributes:
        start: Seconds since the first unit could start.
        end: Likewise.
        row: Which of the units that are there at a time this is, from 0.
    """

    start: float
    end: float
    state: Activity
    row: int


@dataclass(frozen=True)
class UnitRun:
    """One unit of the build.

    Attributes:
        name: ``COMPONENT:SOURCE``.
        seconds: Wall time of its last try, without what it was paused.
        cpu_seconds: ``None`` when it was not measured, as ``peak``, in bytes.
        expected_seconds: CPU time that was expected, ``None`` for nothing; ``expected_peak``,
            in bytes, and ``basis`` belong to it.
        killed: Times that the kernel killed its compiler.
    """

    name: str
    family: str
    outcome: UnitOutcome
    seconds: float
    spans: tuple[Span, ...]
    cpu_seconds: float | None = None
    peak: int | None = None
    expected_seconds: float | None = None
    expected_peak: int | None = None
    basis: str = ""
    tries: int = 1
    killed: int = 0


@dataclass(frozen=True)
class StepRun:
    """One step of the plan in this run.

    Attributes:
        outcome: As in the journal: ``done``, ``failed``, ``interrupted``; ``cut off`` without end.
        peak_memory: Bytes of the largest single process.
    """

    name: str
    outcome: str
    seconds: float
    cpu_seconds: float
    peak_memory: int


@dataclass(frozen=True)
class BuildReport:
    """A build.

    Attributes:
        error: Why it did not come to its end.
        what: The tree, and what of it.
        started: When, in UTC.
        cores: Processors; ``None`` when they could not be told.
        jobs: Most compilers at a time.
        memory: Bytes of memory that the machine, or its container, has.
        measured: Whether the compile engine watched memory; without, times are ninja's own.
        evictions: Times that the engine gave a unit up to save the others.
        log: The output of everything.
    """

    outcome: Outcome
    error: str
    what: str
    archs: tuple[str, ...]
    toolchain: str
    started: str
    seconds: float
    cores: int | None
    jobs: int
    memory: int | None
    measured: bool
    steps: tuple[StepRun, ...]
    units: tuple[UnitRun, ...]
    moments: tuple[Moment, ...]
    evictions: int
    cache: Statistics | None
    notes: tuple[str, ...]
    log: str
