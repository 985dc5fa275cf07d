"""Ranges of nvcc between the versions that a tree compares with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.version import Version

from dsv4_doctor.knowledge.extract.cmake_state import CUDA_COMPILER
from dsv4_doctor.knowledge.extract.cmake_walk import walk

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from dsv4_doctor.knowledge.extract.cmake_state import Event
    from dsv4_doctor.knowledge.extract.cmake_syntax import Argument, Command
    from dsv4_doctor.knowledge.extract.tree import SourceTree

# Compilers carry a build number: nvcc 12.8 is 12.8.61 or 12.8.93, so it passes a strict "greater
# than 12.8", too.
_BUILD = ".50"
_OLDEST = "1.0"
_NEWEST = "99.0"


@dataclass(frozen=True)
class Range:
    """Versions of nvcc between which no comparison in the tree changes.

    Attributes:
        low: Included, ``None`` for no bound.
        high: Excluded, ``None`` for no bound.
    """

    low: str | None
    high: str | None

    @property
    def sample(self) -> str:
        """A full compiler version inside."""
        return (self.low or _OLDEST) + _BUILD


def ranges(thresholds: Iterable[str]) -> tuple[Range, ...]:
    """Return the ranges between some versions, oldest first."""
    known = sorted(set(thresholds), key=Version)
    return tuple(Range(low, high) for low, high in zip([None, *known], [*known, None], strict=True))


def specifiers(all_ranges: tuple[Range, ...], chosen: Collection[Range]) -> tuple[str, ...]:
    """Return the specifiers that cover the chosen ranges, one for each unbroken run."""
    runs: list[tuple[str | None, str | None]] = []
    before: Range | None = None
    for each in all_ranges:
        if each in chosen:
            runs[-1:] = (
                [(runs[-1][0], each.high)]
                if before in chosen and runs
                else [*runs[-1:], (each.low, each.high)]
            )
        before = each
    return tuple(_specifier(low, high) for low, high in runs)


def _specifier(low: str | None, high: str | None) -> str:
    return ",".join(
        [*([f">={low}"] if low is not None else []), *([f"<{high}"] if high is not None else [])]
    )


@dataclass(frozen=True)
class Walks:
    """What runs in a tree's CMake, for every range of nvcc.

    Attributes:
        events: By range, oldest first.
        problems: What could not be read.
    """

    events: dict[Range, tuple[Event, ...]]
    problems: tuple[str, ...]

    @property
    def ranges(self) -> tuple[Range, ...]:
        """All ranges, oldest first."""
        return tuple(self.events)

    def at(self, version: str) -> tuple[Event, ...]:
        """What runs with this ``major.minor`` of nvcc."""
        wanted = Version(version)
        for each in reversed(self.ranges):
            if each.low is None or Version(each.low) <= wanted:
                return self.events[each]
        return ()


def walk_all(tree: SourceTree) -> Walks:
    """Walk the tree's CMake once for every range of nvcc that it tells apart."""
    parsed: dict[str, tuple[Command, ...]] = {}
    walk(tree, _NEWEST, parsed)
    thresholds = {
        version
        for commands in parsed.values()
        for command in commands
        if command.name in {"if", "elseif"}
        for version in compared(command.arguments)
    }
    events: dict[Range, tuple[Event, ...]] = {}
    problems: dict[str, None] = {}
    for each in ranges(thresholds):
        events[each], found = walk(tree, each.sample, parsed)
        problems.update(dict.fromkeys(found))
    return Walks(events, tuple(problems))


def compared(tokens: tuple[Argument, ...]) -> tuple[str, ...]:
    """Return the versions with which a condition compares nvcc's."""
    return tuple(
        tokens[at + 2].text
        for at in range(len(tokens) - 2)
        if CUDA_COMPILER in tokens[at].text
        and tokens[at + 1].text.startswith("VERSION_")
        and _is_version(tokens[at + 2].text)
    )


def _is_version(text: str) -> bool:
    return all(part.isdecimal() for part in text.split("."))
