"""Reads memory while compilers run: what is free, whether anything stalls, what was killed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_build.schedule import memory
from dsv4_build.schedule.situation import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dsv4_build.schedule.events import Events
    from dsv4_build.schedule.memory import Scope
    from dsv4_build.schedule.unit import Unit

# Percent of the last ten seconds in which something waited for memory: nothing more starts then.
STALL = 10.0

# Seconds between lines about memory.
_LINES = 1.0

# Where nothing tells how much there is.
_UNKNOWN = Memory(free=1 << 62, guard=0)


class Gauge:
    """What is known of memory.

    Args:
        scopes: Tells the limits of memory.
        events: Takes lines about it.
        note: Takes what a person should know.

    Attributes:
        memory: As last read.
    """

    def __init__(
        self, scopes: Callable[[], tuple[Scope, ...]], events: Events, note: Callable[[str], None]
    ) -> None:
        self.memory = Memory(0, 0)
        self._scopes, self._events, self._note = scopes, events, note
        self._kills: dict[str, int] = {}
        self._told = 0.0

    def begin(self) -> tuple[Scope, ...]:
        """Return the limits; what the kernel has killed so far is not of this build."""
        found = self._scopes()
        self._kills = {scope.name: scope.kills for scope in found}
        return found

    def read(self, units: Iterable[Unit], now: float) -> None:
        """Read memory, and write it down for these units now and then."""
        found = self._scopes()
        tight = memory.tightest(found)
        if tight is None:
            self.memory = _UNKNOWN
            return
        pressure = max((each.pressure for each in found if each.pressure is not None), default=None)
        guard = memory.guard_of(tight.limit)
        stalled = pressure is not None and pressure[0] >= STALL and tight.free < 4 * guard
        self._note_kills(found)
        self.memory = Memory(tight.free, guard, stalled)
        units = tuple(units)
        if units and now - self._told >= _LINES:
            self._told = now
            self._tell(units, tight, pressure)

    def _note_kills(self, found: Iterable[Scope]) -> None:
        for scope in found:
            before = self._kills.get(scope.name, scope.kills)
            if scope.kills > before:
                self._note(f"the kernel killed {scope.kills - before} for {scope.name}")
            self._kills[scope.name] = scope.kills

    def _tell(
        self, units: tuple[Unit, ...], tight: Scope, pressure: tuple[float, float] | None
    ) -> None:
        states = [unit.state for unit in units]
        some_full = {"some": pressure[0], "full": pressure[1]} if pressure is not None else None
        self._events.write(
            "memory",
            used=tight.limit - tight.free,
            free=tight.free,
            limit=tight.limit,
            pressure=some_full,
            units={unit.number: unit.memory for unit in units if unit.pid},
            running=states.count("running") + states.count("starting"),
            paused=states.count("paused"),
            waiting=states.count("waiting"),
        )
