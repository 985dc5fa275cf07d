"""Tables over all known releases: in which of them something is there, and what it says in each.

One entry a name keeps what most releases repeat small. Its spans are texts such as
``0.7.0..0.9.2 0.33.0..``: first and last release of each unbroken run of known releases, where a
run without an end goes on to the newest that the table knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dsv4_doctor.knowledge.model import Place

Json = Mapping[str, Any]

# Attributes whose value is a list of names, each of which has spans of its own.
LISTS = frozenset({"choices", "aliases", "negatives", "read_by"})
_OPEN = ".."


def spans(text: str, releases: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return the first and the last release of each run.

    Args:
        text: Such as ``0.7.0..0.9.2 0.33.0..``.
        releases: All that the table knows, oldest first.
    """
    found = []
    for part in text.split():
        first, dots, last = part.partition(_OPEN)
        found.append((first, last or (releases[-1] if dots else first)))
    return tuple(found)


@dataclass(frozen=True)
class Recorded:
    """One name of a table.

    Attributes:
        name: Such as ``--max-model-len`` or ``VLLM_CACHE_ROOT``.
        spans: First and last release of each unbroken run of known releases that have it.
        place: Where the newest of them declares it.
        releases: All that the table knows, oldest first, with their position.
        same: What it says in all releases that have it.
        over: What differs between them: spans to value, for a list each name to its spans.
    """

    name: str
    spans: tuple[tuple[str, str], ...]
    place: Place
    releases: Mapping[str, int]
    same: Json
    over: Json

    def within(self, release: str) -> bool:
        """Whether a known release has it."""
        return self._in(self.spans, release)

    def says(self, release: str) -> dict[str, Any] | None:
        """Return its attributes in one release, ``None`` when that does not have it.

        An attribute that is not there was not established.
        """
        if not self.within(release):
            return None
        found = dict(self.same)
        for key, values in self.over.items():
            if key in LISTS:
                names = [name for name, text in values.items() if self._covers(text, release)]
                found |= {key: names} if names else {}
                continue
            for text, value in values.items():
                if self._covers(text, release):
                    found[key] = value
        return found

    def _covers(self, text: str, release: str) -> bool:
        return self._in(spans(text, tuple(self.releases)), release)

    def _in(self, runs: tuple[tuple[str, str], ...], release: str) -> bool:
        at = self.releases.get(release, -1)
        return any(self.releases[first] <= at <= self.releases[last] for first, last in runs)

    def inside(self, span: tuple[str, str], release: str) -> bool:
        """Whether a known release is in one of the spans."""
        return self._in((span,), release)


def recorded(data: Json, key: str) -> dict[str, Recorded]:
    """Return the entries of a table.

    Args:
        data: The content of its file.
        key: What the file calls the entries.
    """
    names: tuple[str, ...] = tuple(data["releases"])
    releases = {name: at for at, name in enumerate(names)}
    found = {}
    for name, each in data[key].items():
        runs = spans(each["in"], names)
        file, _, line = each["at"].partition(":")
        place = Place("vllm", runs[-1][1], data["files"][int(file)], int(line))
        found[name] = Recorded(
            name, runs, place, releases, each.get("same", {}), each.get("over", {})
        )
    return found
