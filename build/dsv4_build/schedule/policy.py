"""Which units run: a pure function of what runs, what waits and what memory there is.

The server and the simulation call the same function, so that what is simulated is what happens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_build.schedule import relief
from dsv4_build.schedule.admission import admit
from dsv4_build.schedule.situation import Decision, Memory, Present, Running, Waiting

if TYPE_CHECKING:
    from collections.abc import Sequence

# Seconds ahead for which the growth that was just seen is taken to go on.
AHEAD = 1.0


def decide(
    running: Sequence[Running], waiting: Sequence[Waiting], memory: Memory, jobs: int, now: float
) -> Decision:
    """Return what to do now.

    Args:
        jobs: Most units that may run at a time.
        now: Seconds, on the clock of ``Waiting.since``.
    """
    active = [unit for unit in running if not unit.paused]
    paused = [unit for unit in running if unit.paused]
    present = Present(active, memory)
    expected_free = memory.free - AHEAD * sum(max(unit.growth, 0.0) for unit in active)
    if expected_free < memory.guard and running:
        return relief.relieve(present, paused)
    held = relief.hold(present)
    if held.pause:
        return held
    if paused:
        return relief.resume(present, paused)
    return admit(waiting, present, jobs, now)
