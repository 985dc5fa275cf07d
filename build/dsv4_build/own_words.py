"""The cause of a failure in a log's own words, for one that has no name yet."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

LINES = 3
WIDTH = 300

# CMake says where in one line and what in the indented ones below.
_CMAKE = re.compile(r"CMake Error\b")
# The words of compilers, of linkers, then of Python and of the kernel.
_ERRORS = (
    _CMAKE,
    re.compile(r"\b(?:fatal )?error\b[^\w]{0,3}:|\berror : ", re.IGNORECASE),
    re.compile(r"undefined reference to|cannot find -l|multiple definition of"),
    re.compile(r"^\w*(?:Error|Exception): |\bKilled\b"),
)
# What comes behind the words of one error and is not of them.
_NEXT = re.compile(r"\[\d+/\d+\] |FAILED: |ninja: |-- |Call Stack \(")


def cause(lines: Iterable[str]) -> tuple[str, ...]:
    """Return at most three lines: the first error with what it says, else the last lines."""
    errors: dict[int, _Error] = {}
    last: deque[str] = deque(maxlen=LINES)
    for line in (each.rstrip() for each in lines if each.strip()):
        last.append(line)
        for error in errors.values():
            error.take(line)
        rank = next((rank for rank, each in enumerate(_ERRORS) if each.search(line)), None)
        if rank is not None and rank not in errors:
            errors[rank] = _Error([line], indented=rank == 0)
    best = errors[min(errors)].lines if errors else last
    return tuple(each.strip()[:WIDTH] for each in best)


@dataclass
class _Error:
    """The first of its kind.

    Attributes:
        indented: Whether only indented lines belong to it.
    """

    lines: list[str]
    indented: bool
    whole: bool = False

    def take(self, line: str) -> None:
        if self.whole:
            return
        other = _NEXT.match(line) or (self.indented and not line[0].isspace())
        if other or len(self.lines) == LINES:
            self.whole = True
        else:
            self.lines.append(line)
