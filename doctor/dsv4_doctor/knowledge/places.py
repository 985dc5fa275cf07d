"""How a knowledge file writes where something stands.

``"FILE:LINE"`` is in the tree that the file is about; an object with ``project``, ``release``,
``file`` and ``line`` is elsewhere; a text without a line is a command or a page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dsv4_doctor.knowledge.model import Cited, Place

if TYPE_CHECKING:
    from collections.abc import Mapping

    Json = Mapping[str, Any]


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
