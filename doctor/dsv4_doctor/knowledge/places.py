"""Where something stands, and how a knowledge file writes it.

``"FILE:LINE"`` is in the tree that the file is about; an object with ``project``, ``release``,
``file`` and ``line`` is elsewhere; a text without a line is a command or a page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dsv4_doctor.citation import Source
from dsv4_doctor.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    Json = Mapping[str, Any]


@dataclass(frozen=True)
class Place:
    """Where something was read: a file of a release's source tree, and the line in it.

    Attributes:
        project: Usually ``vllm``.
        release: Release of that project.
        file: Path inside the tree, or the command or page that was read.
        line: Line, when the file has lines.
    """

    project: str
    release: str
    file: str
    line: int | None = None

    def source(self, requirement: str) -> Source:
        """Return this place as the source of a requirement."""
        return Source(requirement, self.project, self.release, self.file, self.line)

    def __str__(self) -> str:
        return self.source("").citation


@dataclass(frozen=True)
class Cited:
    """A value with the place where it stands."""

    value: str
    place: Place

    def source(self, requirement: str) -> Source:
        """Return the place as the source of a requirement."""
        return self.place.source(requirement)


def place(data: str | Json, project: str, release: str) -> Place:
    """Return a place; the project and release are those of the tree that the file is about."""
    if isinstance(data, str):
        file, _, line = data.rpartition(":")
        if file and line.isdecimal():
            return Place(project, release, file, int(line))
        return Place(project, release, data)
    return Place(data["project"], data.get("release", ""), data["file"], data.get("line"))


def cited(data: Json, project: str, release: str) -> Cited:
    """Return a value with its place."""
    return Cited(data["value"], place(data["at"], project, release))
