"""What a build teaches while it runs: what each unit took, and how fast this machine is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_build.schedule.curve import FLAT
from dsv4_build.schedule.learned import Record

if TYPE_CHECKING:
    from dsv4_build.schedule.unit import Unit

# CPU seconds after which what units take here counts as much as what they took elsewhere.
_PRIOR = 120.0


class Lessons:
    """The lessons of one build.

    Attributes:
        records: By the unit's name.
    """

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        self._measured = self._expected = _PRIOR

    @property
    def speed(self) -> float:
        """How many times longer units take here than where they were measured."""
        return self._measured / self._expected

    def compiled(self, unit: Unit, record: Record) -> None:
        """Learn from a unit that was compiled."""
        self.records[unit.name] = record
        # What was learned here tells nothing of the difference to there.
        if unit.cost.basis != "learned":
            self._measured += record.seconds
            self._expected += unit.cost.seconds

    def killed(self, unit: Unit) -> None:
        """Learn from a unit that needs more than there is, so that the next build knows before."""
        seconds = max(unit.cost.seconds, unit.cpu_seconds)
        self.records[unit.name] = Record(seconds, max(unit.peak, unit.cost.peak), FLAT)
