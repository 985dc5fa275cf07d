"""Facts while they are read: a value with its place, in the form of the knowledge files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]


@dataclass
class Gaps:
    """What could not be established, in order, each once."""

    found: dict[str, None] = field(default_factory=dict)

    def add(self, what: str) -> None:
        """Note something that is missing, with the reason where there is one."""
        self.found[what] = None


def at(file: str, line: int) -> str:
    """A place as the knowledge files write it."""
    return f"{file}:{line}"


def cited(value: str, file: str, line: int) -> Json:
    """A value with its place."""
    return {"value": value, "at": at(file, line)}
