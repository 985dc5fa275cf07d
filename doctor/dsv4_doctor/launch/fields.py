"""Reading numbers and names out of a config.json, which may hold anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dsv4_doctor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

# Far above every published model, and small enough that products of a few stay exact and fast.
LIMITS: Mapping[str, int] = {
    "layers": 1 << 10,
    "width": 1 << 20,
    "heads": 1 << 12,
    "experts": 1 << 14,
    "vocabulary": 1 << 24,
    "context": 1 << 30,
}


@dataclass(frozen=True)
class Fields:
    """The keys of one config.json.

    Attributes:
        data: As it was read.
        name: Where it is from, for error messages.
    """

    data: Mapping[str, Any]
    name: str

    def number(self, key: str, limit: str, *, default: int | None = None, low: int = 1) -> int:
        """Return an integer.

        Args:
            key: In the file.
            limit: Which of :data:`LIMITS` it must not exceed.
            default: What a missing or null key means; ``None`` when it must be there.
            low: Smallest value that makes sense.

        Raises:
            InputError: It is missing, no integer, or absurd.
        """
        value = self.data.get(key)
        if value is None and default is not None:
            return default
        if value is None:
            msg = f"{self.name}: has no {key}, which a model of this architecture has"
            raise InputError(msg)
        if isinstance(value, bool) or not isinstance(value, int):
            msg = f"{self.name}: {key} is {_short(value)}, not a whole number"
            raise InputError(msg)
        if not low <= value <= LIMITS[limit]:
            msg = f"{self.name}: {key} is {_short(value)}, not between {low} and {LIMITS[limit]}"
            raise InputError(msg)
        return value

    def text(self, key: str) -> str:
        """Return a text, empty when it is missing or no text."""
        value = self.data.get(key)
        return value if isinstance(value, str) else ""

    def flag(self, key: str, *, default: bool = False) -> bool:
        """Return a truth value, the default for whatever is none."""
        value = self.data.get(key)
        return value if isinstance(value, bool) else default

    def table(self, key: str) -> Fields:
        """Return a nested object, an empty one when it is missing or something else."""
        value = self.data.get(key)
        return Fields(value if isinstance(value, dict) else {}, f"{self.name}: {key}")

    def items(self, key: str) -> tuple[Any, ...]:
        """Return a list, empty when it is missing or something else."""
        value = self.data.get(key)
        return tuple(value) if isinstance(value, list) else ()


def _short(value: object) -> str:
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # An integer of thousands of digits has no text.
        return f"a huge {type(value).__name__}"
    return text if len(text) <= 40 else f"{text[:37]}..."
