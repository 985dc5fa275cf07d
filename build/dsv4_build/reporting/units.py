"""From the engine's diary, or ninja's log, to units with their place in the picture."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dsv4_build.reporting.model import Span, UnitRun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dsv4_build.reporting.diary import Diary, Entry, Moment, Stretch
    from dsv4_build.reporting.model import UnitOutcome
    from dsv4_build.reporting.ninja_log import Made

_OBJECT = re.compile(r"(?:^|.*/)CMakeFiles/(?P<component>[^/]+)\.dir/(?P<source>.+)\.o")

# A build of an hour has 3,600 lines about memory; a picture has fewer columns.
MOMENTS = 1000


def of_diary(diary: Diary, cached: Sequence[str]) -> tuple[UnitRun, ...]:
    """Return every unit that was started.

    Args:
        cached: Sources that came out of a compiler cache.
    """
    tries = [each for unit in diary.units.values() for each in _tries(unit)]
    rows = assign_rows([(each[0].start, _end(each[-1], diary.at)) for _, each in tries])
    spans: dict[int, list[Span]] = {}
    for (unit, stretches), row in zip(tries, rows, strict=True):
        spans.setdefault(unit.number, []).extend(
            Span(each.start, _end(each, diary.at), each.state, row) for each in stretches
        )
    return tuple(
        _run(unit, spans[number], cached) for number, unit in diary.units.items() if number in spans
    )


def of_ninja(
    made: Iterable[Made], cached: Sequence[str], family: Callable[[str], str]
) -> tuple[UnitRun, ...]:
    """Return every object in ninja's log; ninja writes down only what was made.

    Args:
        family: Tells the family of an object.
    """
    found = [(match, each) for each in made if (match := _OBJECT.fullmatch(each.output))]
    rows = assign_rows([(each.start, each.end) for _, each in found])
    return tuple(
        UnitRun(
            name=f"{match['component']}:{match['source']}",
            family=family(each.output),
            outcome="cached" if _came_from(match["source"], cached) else "compiled",
            seconds=each.end - each.start,
            spans=(Span(each.start, each.end, "running", row),),
        )
        for (match, each), row in zip(found, rows, strict=True)
    )


def thinned(moments: Sequence[Moment], most: int = MOMENTS) -> tuple[Moment, ...]:
    """Return at most so many moments, of each group the one with the most memory in use."""
    step = max(-(-len(moments) // most), 1)
    groups = (moments[at : at + step] for at in range(0, len(moments), step))
    return tuple(max(group, key=lambda each: each.used) for group in groups)


def assign_rows(intervals: Sequence[tuple[float, float]]) -> list[int]:
    """Return for each interval the first row in which nothing else is at that time."""
    rows: list[int] = [0] * len(intervals)
    free: list[float] = []
    for at in sorted(range(len(intervals)), key=lambda at: intervals[at]):
        start, end = intervals[at]
        row = next((row for row, until in enumerate(free) if until <= start), len(free))
        free[row:] = [end, *free[row + 1 :]]
        rows[at] = row
    return rows


def _tries(unit: Entry) -> Iterator[tuple[Entry, list[Stretch]]]:
    for attempt in dict.fromkeys(each.attempt for each in unit.stretches):
        yield unit, [each for each in unit.stretches if each.attempt == attempt]


def _end(stretch: Stretch, now: float) -> float:
    return max(now if stretch.end is None else stretch.end, stretch.start)


def _run(unit: Entry, spans: list[Span], cached: Sequence[str]) -> UnitRun:
    last = unit.stretches[-1].attempt
    ran = [
        span.end - span.start
        for span, stretch in zip(spans, unit.stretches, strict=True)
        if stretch.attempt == last and span.state == "running"
    ]
    return UnitRun(
        name=unit.name,
        family=unit.family,
        outcome=_outcome(unit, cached),
        seconds=sum(ran),
        spans=tuple(spans),
        cpu_seconds=unit.cpu_seconds,
        peak=unit.peak,
        expected_seconds=unit.expected_seconds,
        expected_peak=unit.expected_peak,
        basis=unit.basis,
        tries=max(unit.tries, 1),
        killed=len(unit.kills),
    )


def _outcome(unit: Entry, cached: Sequence[str]) -> UnitOutcome:
    if unit.status is None:
        return "cut off"
    if unit.status:
        return "failed"
    source = unit.name.partition(":")[2]
    return "cached" if _came_from(source, cached) else "compiled"


def _came_from(source: str, cached: Sequence[str]) -> bool:
    return any(each == source or each.endswith(f"/{source}") for each in cached)
