"""One thing that a release says, in the form in which releases are compared and shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dsv4_doctor.knowledge.places import Place


@dataclass(frozen=True)
class Entry:
    """One thing that a release says, as text that can be compared.

    Attributes:
        value: What a person would read.
        place: Where it stands, ``None`` when it stands nowhere.
    """

    value: str
    place: Place | None
