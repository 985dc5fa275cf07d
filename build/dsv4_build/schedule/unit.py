"""One unit of a build, as the server knows it."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from dsv4_build.schedule.costs import Cost, name_of
from dsv4_build.schedule.curve import FLAT, Sample, from_samples
from dsv4_build.schedule.learned import Record
from dsv4_build.schedule.outlook import Expectation, Progress
from dsv4_build.schedule.situation import Running, Waiting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsv4_build.schedule.procfs import Use

State: TypeAlias = Literal["waiting", "starting", "running", "paused", "evicted", "judging"]

# Programs whose presence shows that something was compiled, rather than found in a cache.
_COMPILERS = frozenset({"cicc", "ptxas", "cudafe++", "cc1plus", "cc1", "clang", "clang++"})

# Seconds over which growth is looked at.
_RECENT = 1.0

_ARCH = re.compile(r"\barch=(compute_\w+)")


def archs_of(argv: Sequence[str]) -> int:
    """Return for how many architectures a command compiles; 1 for one without device code."""
    found = {arch for argument in argv for arch in _ARCH.findall(argument)}
    return max(len(found), 1)


def object_of(argv: Sequence[str]) -> str:
    """Return the object that a command writes; empty when it does not say."""
    places = [index for index, each in enumerate(argv[:-1]) if each == "-o"]
    return argv[places[-1] + 1] if places else ""


def again(known: Expectation, peak: int, kills: int, evictions: int) -> Expectation:
    """Return what to expect of a unit after tries that did not end.

    Args:
        peak: The largest use that was seen, in bytes.
    """
    if not kills and not evictions:
        return known
    peak = max(known.peak, peak)
    if not kills and evictions == 1:
        # Nothing was wrong with it: it was the one that had done least.
        return replace(known, peak=peak)
    # Its largest use is reckoned with for its whole life.
    return replace(known, peak=peak, curve=FLAT)


@dataclass
class Unit:
    """A unit from its coming to its end.

    Attributes:
        cost: What it is expected to cost.
        since: When it began to wait, on the monotonic clock.
        pid: Its compiler.
        tries: How often its compiler was started.
        kills: How often the kernel killed it.
        peak: Largest memory that was seen, over all tries; ``seen`` in the present one.
    """

    number: int
    object: str
    cost: Cost
    since: float
    state: State = "waiting"
    pid: int = 0
    tries: int = 0
    kills: int = 0
    evictions: int = 0
    peak: int = 0
    seen: int = 0
    memory: int = 0
    cpu_seconds: float = 0.0
    started: float = 0.0
    paused_since: float = 0.0
    paused_seconds: float = 0.0
    programs: frozenset[str] = frozenset()
    _samples: list[Sample] = field(default_factory=list)
    _recent: list[tuple[float, int]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """``COMPONENT:SOURCE``."""
        return name_of(self.object)

    @property
    def compiled(self) -> bool:
        """Whether a compiler was seen at work."""
        return not self.programs.isdisjoint(_COMPILERS)

    @property
    def growth(self) -> float:
        """Bytes a second, over the last looks."""
        if len(self._recent) < 2:
            return 0.0
        (first, before), (last, now) = self._recent[0], self._recent[-1]
        return (now - before) / (last - first) if last > first else 0.0

    def start(self) -> None:
        """Begin a try."""
        self.state = "starting"
        self.tries += 1
        self.started = time.monotonic()
        self.pid, self.memory, self.seen = 0, 0, 0
        self.cpu_seconds, self.paused_seconds = 0.0, 0.0
        self._samples, self._recent = [], []

    def wait(self) -> None:
        """Go back to waiting."""
        self.state, self.since = "waiting", time.monotonic()

    def pause(self, now: float) -> None:
        """Stop for a while."""
        self.state, self.paused_since = "paused", now

    def resume(self, now: float) -> None:
        """Go on after a stop."""
        self.state = "running"
        self.paused_seconds += now - self.paused_since

    def see(self, use: Use) -> None:
        """Take in what it uses now."""
        now = time.monotonic()
        self.memory, self.cpu_seconds = use.memory, max(use.cpu_seconds, self.cpu_seconds)
        self.seen = max(self.seen, use.memory)
        self.peak = max(self.peak, self.seen)
        self.programs |= use.programs
        self._samples.append(Sample(self.cpu_seconds, use.memory))
        self._recent = [each for each in self._recent if now - each[0] < _RECENT]
        self._recent.append((now, use.memory))

    def expectation(self, speed: float) -> Expectation:
        """Return what to expect of it, with what its earlier tries have taught."""
        known = self.cost.expectation(speed if self.cost.basis != "learned" else 1.0)
        return again(known, self.peak, self.kills, self.evictions)

    def as_waiting(self, speed: float) -> Waiting:
        """Return it as the policy wants it."""
        alone = self.kills > 0
        return Waiting(self.number, self.expectation(speed), self.since, alone)

    def as_running(self, speed: float) -> Running:
        """Return it as the policy wants it."""
        progress = Progress(self.cpu_seconds, self.memory, self.seen)
        paused, alone = self.state == "paused", self.kills > 0
        return Running(self.number, self.expectation(speed), progress, self.growth, paused, alone)

    def record(self, cpu_seconds: float, largest: int) -> Record:
        """Return what it cost.

        Args:
            largest: Bytes of its largest process, as the kernel counted.
        """
        curve = from_samples(self._samples, cpu_seconds)
        return Record(cpu_seconds, max(self.seen, largest), curve)
