"""An estimate as text that a person reads before an hour of compiling."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dsv4_build.estimating.estimate import Estimate, FamilyCost
    from dsv4_doctor.report import Finding

_GIB = 1 << 30
_WIDTH = 11


def render(found: Estimate, room: Sequence[Finding]) -> str:
    """Return the estimate as lines."""
    return "".join(f"{line}\n" for line in _lines(found, room))


def _lines(found: Estimate, room: Sequence[Finding]) -> Iterator[str]:
    yield ""
    yield "Estimate"
    done = f", {found.done} are there from an earlier run" if found.done else ""
    yield _row("units", f"{found.units}{done}" if found.units else "not known")
    yield _row("", found.counted)
    for family in found.families:
        yield f"    {family.name:<18}{_family(family)}"
    if found.units:
        yield from _times(found)
    for each in found.disk:
        yield _row("disk", f"{each.what}: {_size(each.bytes)} in {each.path}")
        yield _row("", each.basis)
    for gap in found.unknown:
        yield _row("not in it", gap)
    for finding in room:
        if finding.status != "pass":
            yield _row(finding.status, f"{finding.id}: {finding.title}")
            if finding.remedy is not None:
                yield _row("", finding.remedy.text)


def _times(found: Estimate) -> Iterator[str]:
    yield _row("CPU", span(found.seconds))
    yield _row("", f"costs {found.costs_basis}")
    yield _row("", f"speed {found.speed:.2f}: {found.speed_basis}")
    if found.wall is None:
        yield _row("wall", "not known: the processors could not be told")
    else:
        yield _row("wall", f"at least {span(found.wall)}, decided by the {found.decided_by}")
    if found.longest is not None and found.largest is not None:
        longest, largest = found.longest, found.largest
        yield _row("longest", f"{longest.name}: {span(longest.seconds)} ({longest.basis})")
        yield _row("largest", f"{largest.name}: {_size(largest.peak)} ({largest.basis})")
        yield _row("memory", f"{_size(found.peaks)} if all that run have their peaks together")


def _family(family: FamilyCost) -> str:
    plural = "s" if family.units != 1 else ""
    bases = ", ".join(f"{count} {basis}" for basis, count in sorted(family.bases.items()))
    return (
        f"{family.units:>4} unit{plural:<2}{span(family.seconds):>12}, longest "
        f"{span(family.longest)}, up to {_size(family.peak)} ({bases})"
    )


def span(seconds: float) -> str:
    """Return a time in the unit that a person would take."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def _size(count: int) -> str:
    return f"{count / _GIB:.1f} GiB" if count >= _GIB else f"{count / (1 << 20):.0f} MiB"


def _row(name: str, value: str) -> str:
    first, rest = f"  {name:<{_WIDTH}}", " " * (_WIDTH + 2)
    return fill(value, 100, initial_indent=first, subsequent_indent=rest, break_long_words=False)
