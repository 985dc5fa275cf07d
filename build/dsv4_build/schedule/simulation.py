"""A build on a machine that does not exist, by the policy that runs real ones."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dsv4_build.schedule.memory import guard_of
from dsv4_build.schedule.outlook import Expectation, Progress
from dsv4_build.schedule.policy import decide
from dsv4_build.schedule.situation import Decision, Memory, Running, Waiting
from dsv4_build.schedule.unit import again

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from dsv4_build.schedule.curve import Curve

# Seconds of a step: as often as the real server looks when it is busy.
STEP = 0.5

# Seconds of a step with fixed jobs, where nobody looks.
STATIC_STEP = 1.0


@dataclass(frozen=True)
class Machine:
    """What a build has.

    Attributes:
        memory: Bytes that it may use.
        window: Units that ninja hands over at a time.
    """

    cores: int
    memory: int
    window: int


@dataclass(frozen=True)
class Truth:
    """What a unit is expected to need, and what it really does."""

    expected: Expectation
    seconds: float
    peak: int
    curve: Curve

    def memory(self, cpu_seconds: float) -> int:
        """Return the bytes in use after so many seconds."""
        # From one part of its life to the next it grows or shrinks evenly.
        at = cpu_seconds / self.seconds * len(self.curve.levels) - 0.5
        part = int(max(at, 0.0))
        before, after = (self.curve.levels[min(i, self._last)] for i in (part, part + 1))
        return int(self.peak * (before + (after - before) * max(at - part, 0.0)))

    @property
    def _last(self) -> int:
        return len(self.curve.levels) - 1


@dataclass
class Outcome:
    """How a simulated build went.

    Attributes:
        seconds: From its start to the end of the last unit.
        peak: Largest memory in use at any moment, in bytes.
        over: Times that the limit was passed, so that the kernel would have killed one.
        evicted: Units that the policy gave up and started again.
        paused: Seconds that units stood still, all together.
        busy: Seconds of CPU, lost ones included.
    """

    seconds: float = 0.0
    peak: int = 0
    over: int = 0
    evicted: int = 0
    paused: float = 0.0
    busy: float = 0.0


@dataclass
class _Live:
    truth: Truth
    expected: Expectation
    alone: bool
    cpu: float = 0.0
    memory: int = 0
    seen: int = 0
    growth: float = 0.0
    paused: bool = False


@dataclass
class _State:
    ahead: list[tuple[int, Truth]]
    waiting: dict[int, Waiting] = field(default_factory=dict)
    live: dict[int, _Live] = field(default_factory=dict)
    evictions: Counter[int] = field(default_factory=Counter)
    outcome: Outcome = field(default_factory=Outcome)


def deviating(expected: Expectation, rng: random.Random, noise: float) -> Truth:
    """Return a unit that differs from what is expected of it.

    Args:
        noise: Standard deviation of the logarithm of its time; its peak deviates by half of that,
            and never upwards by more than a quarter; its phases shift by as much.
    """
    warp = rng.lognormvariate(0, noise / 2)
    parts = len(expected.curve.levels)
    levels = tuple(expected.curve.at(((i + 0.5) / parts) ** warp) for i in range(parts))
    return Truth(
        expected=expected,
        seconds=max(expected.seconds * rng.lognormvariate(0, noise), STEP),
        peak=int(expected.peak * min(rng.lognormvariate(0, noise / 2), 1.25)),
        curve=type(expected.curve)(levels),
    )


def simulate(units: Sequence[Truth], machine: Machine, *, jobs: int | None = None) -> Outcome:
    """Run units to their end, as the server would.

    Args:
        units: In the order in which ninja hands them over.
        jobs: Most at a time; by default one for each core.

    Raises:
        ValueError: A unit needs more than the machine has, so that no schedule ends.
    """
    if any(unit.peak > machine.memory for unit in units):
        msg = "a unit is larger than the machine's memory"
        raise ValueError(msg)
    state = _State(ahead=list(enumerate(units)))
    truths = dict(state.ahead)
    state.ahead.reverse()
    most = min(jobs or machine.cores, machine.cores)
    now = 0.0
    while state.ahead or state.waiting or state.live:
        while state.ahead and len(state.waiting) + len(state.live) < machine.window:
            unit, truth = state.ahead.pop()
            state.waiting[unit] = Waiting(unit, truth.expected, now)
        _apply(_decided(state, machine, most, now), state, truths, now)
        now += STEP
        _advance(state, machine, now)
    state.outcome.seconds = now
    return state.outcome


def _decided(state: _State, machine: Machine, jobs: int, now: float) -> Decision:
    used = sum(live.memory for live in state.live.values())
    running = [
        Running(
            unit,
            live.expected,
            Progress(live.cpu, live.memory, live.seen),
            live.growth,
            live.paused,
            live.alone,
        )
        for unit, live in state.live.items()
    ]
    memory = Memory(machine.memory - used, guard_of(machine.memory))
    return decide(running, list(state.waiting.values()), memory, jobs, now)


def _apply(decision: Decision, state: _State, truths: dict[int, Truth], now: float) -> None:
    for unit in decision.admit:
        waited = state.waiting.pop(unit)
        state.live[unit] = _Live(truths[unit], waited.expected, waited.alone)
    for unit in decision.pause:
        state.live[unit].paused = True
    for unit in decision.resume:
        state.live[unit].paused = False
    for unit in decision.evict:
        live = state.live.pop(unit)
        state.outcome.evicted += 1
        state.evictions[unit] += 1
        expected = again(live.truth.expected, live.seen, 0, state.evictions[unit])
        state.waiting[unit] = Waiting(unit, expected, now)


def _advance(state: _State, machine: Machine, now: float) -> None:
    outcome = state.outcome
    for unit, live in list(state.live.items()):
        if live.paused:
            outcome.paused += STEP
            continue
        live.cpu += STEP
        outcome.busy += STEP
        if live.cpu >= live.truth.seconds:
            del state.live[unit]
            continue
        memory = live.truth.memory(live.cpu)
        live.growth = (memory - live.memory) / STEP
        live.memory, live.seen = memory, max(live.seen, memory)
    used = sum(live.memory for live in state.live.values())
    outcome.peak = max(outcome.peak, used)
    if used > machine.memory:
        outcome.over += 1
        unit = max(state.live, key=lambda each: state.live[each].memory)
        live = state.live.pop(unit)
        expected = again(live.truth.expected, live.seen, 1, 0)
        state.waiting[unit] = Waiting(unit, expected, now, alone=True)


def static(units: Sequence[Truth], machine: Machine, jobs: int) -> Outcome:
    """Run units in ninja's own order, so many at a time, as ``ninja -j`` does."""
    outcome = Outcome()
    ahead, now = list(reversed(units)), 0.0
    running: list[tuple[Truth, float]] = []
    while ahead or running:
        while ahead and len(running) < min(jobs, machine.cores):
            running.append((ahead.pop(), now))
        now += STATIC_STEP
        running = [(unit, start) for unit, start in running if now - start < unit.seconds]
        used = sum(unit.memory(now - start) for unit, start in running)
        outcome.peak = max(outcome.peak, used)
        if used > machine.memory:
            # A killed compiler ends the build.
            outcome.over += 1
            break
    outcome.seconds = now
    return outcome


def best_static(units: Sequence[Truth], machine: Machine) -> tuple[int, Outcome] | None:
    """Return the largest number of jobs that survives; ``None`` for none.

    It is found by trying, as nobody could do with a real build.
    """
    for jobs in range(machine.cores, 0, -1):
        outcome = static(units, machine, jobs)
        if not outcome.over:
            return jobs, outcome
    return None


def bound(units: Sequence[Truth], cores: int) -> float:
    """Return the seconds that no schedule can beat, however much memory there is."""
    seconds = [unit.seconds for unit in units]
    return max(*seconds, sum(seconds) / cores) if seconds else 0.0
