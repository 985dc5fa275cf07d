"""One reason why a release does not fit what somebody has or wants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dsv4_doctor.knowledge.places import Place


@dataclass(frozen=True)
class Obstacle:
    """One reason why a release does not fit, with the line that it rests on."""

    text: str
    place: Place | None
