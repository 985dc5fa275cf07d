"""Tables over all known releases: in which of them something is there, and what it says in each.

One entry a name keeps what most releases repeat small. Its spans are texts such as
``0.7.0..0.9.2 0.33.0..``: first and last release of each unbroken run of known releases, where a
run without an end goes on to the newest that the table knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dsv4_doctor.knowledge.places import Place
from dsv4_doctor.lazy_dataclass import dataclass

Json = Mapping[str, Any]

# Attributes whose value is a list of names, each of which has spans of its own.
LISTS = frozenset({"choices", "aliases", "negatives", "read_by"})
_OPEN = ".."


def spans(text: str, newest: str) -> tuple[tuple[str, str], ...]:
    """Return the first and the last release of each run.

    Args:
        text: Such as ``0.7.0..0.9.2 0.33.0..``.
        newest: The newest release that the table knows.
    """
    found = []
    for part in text.split():
        first, dots, last = part.partition(_OPEN)
        found.append((first, last or (newest if dots else first)))
    return tuple(found)


@dataclass(frozen=True)
class Recorded:
    """One name of a table.

    Attributes:
        name: Such as ``--max-model-len`` or ``VLLM_CACHE_ROOT``.
        spans: First and last release of each unbroken run of known releases that have it.
        releases: All that the table knows, oldest first, with their position.
        last: The newest of them.
        files: Those that the places are in.
        at: A line for each release that has it, oldest first, after ``FILE:``, the number of the
            file, where that is another than before.
        same: What it says in all releases that have it.
        over: What differs between them: spans to value, for a list each name to its spans.
    """

    name: str
    spans: tuple[tuple[str, str], ...]
    releases: Mapping[str, int]
    last: str
    files: tuple[str, ...]
    at: str
    same: Json
    over: Json

    @property
    def newest(self) -> str:
        """The newest known release that has it."""
        return self.spans[-1][1]

    @property
    def place(self) -> Place:
        """Where the newest release that has it declares it."""
        return self.place_in(self.newest)

    def place_in(self, release: str) -> Place:
        """Return where a release that has it declares it."""
        wanted, before = self.releases[release], 0
        for first, last in self.spans:
            low, high = self.releases[first], self.releases[last]
            if low <= wanted <= high:
                before += wanted - low
                break
            before += high - low + 1
        parts = self.at.split()[: before + 1]
        number = next(part.partition(":")[0] for part in reversed(parts) if ":" in part)
        line = int(parts[-1].rpartition(":")[2])
        return Place("vllm", release, self.files[int(number)], line)

    def places(self) -> dict[str, Place]:
        """Return where each release that has it declares it, oldest first."""
        return {name: self.place_in(name) for name in self.releases if self.within(name)}

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
        return self._in(spans(text, self.last), release)

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
    files = tuple(data["files"])
    found = {}
    for name, each in data[key].items():
        runs = spans(each["in"], names[-1])
        same, over = each.get("same", {}), each.get("over", {})
        found[name] = Recorded(name, runs, releases, names[-1], files, each["at"], same, over)
    return found
