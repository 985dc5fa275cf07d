"""The programs that a build calls."""

from __future__ import annotations

from dsv4_doctor.lazy_dataclass import dataclass


@dataclass(frozen=True)
class BuildTool:
    """One program that a build calls.

    Attributes:
        path: Where it is, ``None`` when it was not found.
        version: What it says of itself, ``None`` when it could not be asked.
        error: Why it could not be asked, or what it complained of.
    """

    name: str
    path: str | None
    version: str | None
    error: str | None = None
