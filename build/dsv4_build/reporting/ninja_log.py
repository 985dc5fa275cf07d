"""Ninja's own log of a build directory: which object was made when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE = ".ninja_log"


@dataclass(frozen=True)
class Made:
    """One output.

    Attributes:
        start: Seconds since ninja began.
        end: Likewise.
    """

    output: str
    start: float
    end: float


def parse(text: str) -> tuple[Made, ...]:
    """Read a log of version 5 or newer; of the runs of ninja that are in it, the last.

    A run begins where an edge ends before the one above it did: edges are written as they end.
    """
    made: list[Made] = []
    for each in _lines(text):
        if made and each.end < made[-1].end:
            made = []
        made.append(each)
    return tuple(made)


def _lines(text: str) -> Iterator[Made]:
    for line in text.splitlines():
        fields = line.split("\t")
        if line.startswith("#") or len(fields) != 5:
            continue
        start, end, _, output, _ = fields
        if _is_time(start) and _is_time(end) and int(start) <= int(end):
            yield Made(output, int(start) / 1000, int(end) / 1000)


def _is_time(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 12
