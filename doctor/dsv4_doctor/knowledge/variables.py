"""Which vLLM releases read which environment variables."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from dsv4_doctor.knowledge.model import Place

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Variables:
    """The variables of all releases in the table.

    Attributes:
        releases: Oldest first.
        table: Entries of the file by name.
        files: Files that the entries name by number.
    """

    releases: tuple[str, ...]
    table: Mapping[str, Any]
    files: tuple[str, ...]

    def covers(self, release: str) -> bool:
        """Whether the table knows this release."""
        return release in self.releases

    def read_in(self, name: str) -> tuple[str, ...]:
        """Return the releases that read a variable, oldest first; none for one that is unknown."""
        entry = self.table.get(name)
        if entry is None:
            return ()
        found: list[str] = []
        for part in entry["in"].split():
            first, dots, last = part.partition("..")
            start = self.releases.index(first)
            end = self.releases.index(last) if last else (-1 if dots else start)
            found += self.releases[start:] if end < 0 else self.releases[start : end + 1]
        return tuple(found)

    def place(self, name: str) -> Place:
        """Return where the newest release that reads a variable does so.

        An entry lists a line for each release, and the number of the file before the first line
        in it: ``1:267 273 12:989``.
        """
        file, line = "", 0
        for part in self.table[name]["at"].split():
            number, colon, rest = part.rpartition(":")
            file, line = (self.files[int(number)] if colon else file), int(rest)
        return Place("vllm", self.read_in(name)[-1], file, line)


@cache
def variables() -> Variables:
    """Return the table."""
    text = files(__package__).joinpath("variables.json").read_text(encoding="utf-8")
    data = json.loads(text)
    return Variables(tuple(data["releases"]), data["variables"], tuple(data["files"]))
