"""The diary of the compile engine, ``schedule.jsonl``, read line by line while it grows or later.

Its form is in docs/schedule.md. A line that cannot be read, or an event that is not known, is left
out: what a crash tore off must not keep the rest from being shown.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

FILE = "schedule.jsonl"

Activity: TypeAlias = Literal["running", "paused"]


@dataclass
class Stretch:
    """Some seconds of one try of a unit; without an end while it goes on."""

    start: float
    attempt: int
    state: Activity
    end: float | None = None


@dataclass
class Entry:
    """A unit as far as the diary tells.

    Attributes:
        status: Exit status, ``None`` while it is not over.
        expected_seconds: ``None`` when nothing was expected; as the other two of that kind.
    """

    number: int
    name: str
    object: str
    family: str
    expected_seconds: float | None = None
    expected_peak: int | None = None
    basis: str = ""
    stretches: list[Stretch] = field(default_factory=list)
    kills: list[float] = field(default_factory=list)
    tries: int = 0
    status: int | None = None
    cpu_seconds: float | None = None
    peak: int | None = None

    @property
    def active(self) -> Activity | None:
        """What it does now."""
        last = self.stretches[-1] if self.stretches else None
        return last.state if last is not None and last.end is None else None


@dataclass(frozen=True)
class Moment:
    """Memory and units at one time.

    Attributes:
        at: Seconds since the engine began.
        used: Bytes in use in the tightest scope, by whatever it is.
        limit: Bytes that there are in it; ``None`` when it does not tell.
        compilers: Bytes in use by the compilers of the build.
    """

    at: float
    used: int
    limit: int | None
    running: int
    paused: int
    waiting: int
    compilers: int = 0


@dataclass
class Diary:
    """Everything since the last time that the engine began."""

    time: str = ""
    cores: int | None = None
    jobs: int | None = None
    at: float = 0.0
    units: dict[int, Entry] = field(default_factory=dict)
    moments: list[Moment] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    evictions: int = 0
    ended: bool = False

    @property
    def done(self) -> list[Entry]:
        """Units that are over."""
        return [unit for unit in self.units.values() if unit.status is not None]

    @property
    def kills(self) -> int:
        """Times that the kernel killed a compiler."""
        return sum(len(unit.kills) for unit in self.units.values())

    def read(self, lines: Iterable[str]) -> None:
        """Take lines of the file, each whole."""
        for line in lines:
            # What a crash tore off, or a later engine writes in another form, is left out.
            with suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
                self._take(json.loads(line))

    def _take(self, event: dict[str, Any]) -> None:
        if event["event"] == "begin":
            vars(self).update(vars(Diary()))
        take = getattr(self, f"_on_{event['event']}", None)
        if take is not None:
            take(event)
            self.at = max(self.at, float(event.get("at", 0.0)))

    def _on_begin(self, event: dict[str, Any]) -> None:
        self.time = str(event.get("time", ""))
        self.cores, self.jobs = _number(event.get("cores")), _number(event.get("jobs"))

    def _on_waiting(self, event: dict[str, Any]) -> None:
        expected = event.get("expected") or {}
        self.units[int(event["unit"])] = Entry(
            number=int(event["unit"]),
            name=str(event["name"]),
            object=str(event.get("object", "")),
            family=str(event.get("family", "other")),
            expected_seconds=_real(expected.get("seconds")),
            expected_peak=_number(expected.get("peak")),
            basis=str(expected.get("basis", "")),
        )

    def _on_admitted(self, event: dict[str, Any]) -> None:
        self._begin_stretch(event, "running", int(event.get("try", 1)))

    def _on_paused(self, event: dict[str, Any]) -> None:
        self._begin_stretch(event, "paused", None)

    def _on_resumed(self, event: dict[str, Any]) -> None:
        self._begin_stretch(event, "running", None)

    def _begin_stretch(self, event: dict[str, Any], state: Activity, attempt: int | None) -> None:
        unit = self._end_stretch(event)
        unit.tries = attempt if attempt is not None else max(unit.tries, 1)
        unit.stretches.append(Stretch(float(event["at"]), unit.tries, state))

    def _end_stretch(self, event: dict[str, Any]) -> Entry:
        unit = self.units[int(event["unit"])]
        if unit.active is not None:
            unit.stretches[-1].end = float(event["at"])
        return unit

    def _on_evicted(self, event: dict[str, Any]) -> None:
        self._end_stretch(event)
        self.evictions += 1

    def _on_killed(self, event: dict[str, Any]) -> None:
        self._end_stretch(event).kills.append(float(event["at"]))

    def _on_ended(self, event: dict[str, Any]) -> None:
        unit = self._end_stretch(event)
        unit.status = int(event["status"])
        unit.cpu_seconds = _real(event.get("cpu_seconds"))
        unit.peak = _number(event.get("peak"))
        unit.tries = int(event.get("tries", unit.tries))

    def _on_memory(self, event: dict[str, Any]) -> None:
        running, paused, waiting = (
            _number(event.get(each)) or 0 for each in ("running", "paused", "waiting")
        )
        moment = Moment(
            at=float(event["at"]),
            used=int(event["used"]),
            limit=_number(event.get("limit")),
            running=running,
            paused=paused,
            waiting=waiting,
            compilers=sum(int(each) for each in (event.get("units") or {}).values()),
        )
        self.moments.append(moment)

    def _on_note(self, event: dict[str, Any]) -> None:
        self.notes.append(str(event["text"]))

    def _on_end(self, _event: dict[str, Any]) -> None:
        self.ended = True


def _number(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) else None


def _real(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
