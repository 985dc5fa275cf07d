"""Rules over time: raised when they hold for long enough, taken back with hysteresis."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dsv4_doctor.knowledge import metrics as knowledge
from dsv4_doctor.knowledge.metrics import Level  # noqa: TC001 - the schema is made of it

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsv4_doctor.knowledge.metrics import Bound, WatchRule
    from dsv4_doctor.watch.sample import Reading

# A side condition is given up only this far beyond its bound.
_SLACK = 0.8


@dataclass(frozen=True)
class Event:
    """A rule that was raised or taken back.

    Attributes:
        id: Of the rule.
        kind: What happened.
        value: Of its signal; ``None`` where it could not be told any more.
        says: In words.
        do: What to do.
        origin: Where the thresholds are from.
    """

    id: str
    kind: Literal["raised", "cleared"]
    level: Level
    signal: str
    value: float | None
    says: str
    do: str
    origin: str


class Judge:
    """The state of all rules of one watch."""

    def __init__(self, rules: Sequence[WatchRule] | None = None, *, patient: bool = True) -> None:
        """Begin without anything raised.

        Args:
            rules: Other rules than those of the knowledge.
            patient: Whether a rule must hold for its time; not so where two looks are all.
        """
        self.rules = tuple(knowledge.rules() if rules is None else rules)
        self._patient = patient
        self._since: dict[str, float] = {}
        self._raised: dict[str, Event] = {}
        longest = max((each.seconds for each in self.rules if each.step is not None), default=0.0)
        self._longest = longest
        self._past: deque[Reading] = deque()

    @property
    def raised(self) -> tuple[Event, ...]:
        """What is raised now, in the order of the rules."""
        return tuple(self._raised[each.id] for each in self.rules if each.id in self._raised)

    def take(self, reading: Reading) -> tuple[Event, ...]:
        """Take the signals of a moment and return what was raised or taken back by it."""
        found = [event for rule in self.rules if (event := self._one(rule, reading)) is not None]
        self._past.append(reading)
        while self._past and self._past[0].at < reading.at - self._longest:
            self._past.popleft()
        return tuple(found)

    def _one(self, rule: WatchRule, reading: Reading) -> Event | None:
        value = reading.signals.get(rule.signal)
        if value is None:
            # What cannot be told neither raises a rule nor takes it back.
            self._since.pop(rule.id, None)
            return None
        if rule.id in self._raised:
            if self._over(rule, value, reading):
                return self._take_back(rule, value)
            self._raised[rule.id] = _event(rule, "raised", value)
            return None
        if not self._holds(rule, value, reading):
            self._since.pop(rule.id, None)
            return None
        since = self._since.setdefault(rule.id, reading.at)
        wait = rule.seconds if self._patient and rule.step is None else 0.0
        if reading.at - since < wait:
            return None
        event = _event(rule, "raised", value)
        self._raised[rule.id] = event
        return event

    def _take_back(self, rule: WatchRule, value: float) -> Event:
        del self._raised[rule.id]
        self._since.pop(rule.id, None)
        return _event(rule, "cleared", value)

    def _holds(self, rule: WatchRule, value: float, reading: Reading) -> bool:
        if not all(_within(each, reading) for each in rule.also):
            return False
        if rule.step is not None:
            difference = self._difference(rule, value, reading)
            if difference is None:
                return False
            return difference >= rule.step if rule.step > 0 else difference <= rule.step
        return (rule.above is not None and value > rule.above) or (
            rule.below is not None and value < rule.below
        )

    def _over(self, rule: WatchRule, value: float, reading: Reading) -> bool:
        """Whether a raised rule is to be taken back: on the other side of its own threshold."""
        if rule.step is not None:
            difference = self._difference(rule, value, reading)
            return difference is None or abs(difference) < rule.clear
        if rule.above is not None:
            return value <= rule.clear
        return value >= rule.clear or not all(_near(each, reading) for each in rule.also)

    def _difference(self, rule: WatchRule, value: float, reading: Reading) -> float | None:
        """How far a value is from the mean of its window, ``None`` before that is half full."""
        window = [
            each
            for each in self._past
            if each.at >= reading.at - rule.seconds and rule.signal in each.signals
        ]
        if not window or reading.at - window[0].at < rule.seconds / 2:
            return None
        return value - sum(each.signals[rule.signal] for each in window) / len(window)


def _within(bound: Bound, reading: Reading) -> bool:
    value = reading.signals.get(bound.signal)
    if value is None:
        return False
    return (bound.above is None or value > bound.above) and (
        bound.below is None or value < bound.below
    )


def _near(bound: Bound, reading: Reading) -> bool:
    """Whether a side condition holds, or is so close to its bound that it may soon again."""
    value = reading.signals.get(bound.signal)
    if value is None:
        return False
    return (bound.above is None or value > bound.above * _SLACK) and (
        bound.below is None or value * _SLACK < bound.below
    )


def _event(rule: WatchRule, kind: Literal["raised", "cleared"], value: float) -> Event:
    said = rule.says.replace("{value}", shown(rule.signal, value))
    return Event(rule.id, kind, rule.level, rule.signal, value, said, rule.do, str(rule.origin))


def shown(signal: str, value: float) -> str:
    """Return the value of a signal as a person reads it."""
    unit = knowledge.signals()[signal].unit
    if unit == "percentunit":
        return f"{value:.1%}"
    if unit == "percent":
        return f"{value:.0f} %"
    if unit == "s":
        return f"{value:.3f} s"
    return f"{value:.0f}" if value == int(value) else f"{value:.2f}"
