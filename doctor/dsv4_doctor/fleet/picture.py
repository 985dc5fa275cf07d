"""Many hosts to one picture: equal failures together, drift, who is missing, what changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dsv4_doctor.fleet import drift
from dsv4_doctor.fleet.model import (
    ACTED_ON,
    Cause,
    Changes,
    Duplicate,
    Fleet,
    Group,
    Host,
    Refused,
    Variant,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dsv4_doctor.fleet.earlier import Earlier

# Findings of hosts that gave no report are grouped like all others.
UNREACHED = "fleet.host.reached"
MISSING = "fleet.host.expected"
_MISSING_REMEDY = "run the preflight there, or take the host off the list of expected ones"


@dataclass(frozen=True)
class Against:
    """What a fleet is compared with.

    Attributes:
        expected: Hosts that should be there.
        baseline: Facts of a good machine.
        earlier: A former picture.
    """

    expected: tuple[str, ...] = ()
    baseline: drift.Facts = ()
    earlier: Earlier | None = None


def compose(
    hosts: Iterable[Host],
    refused: Sequence[Refused] = (),
    target: str = "",
    against: Against = Against(),
) -> Fleet:
    """Return the picture.

    Args:
        hosts: In any order; of several documents of one host the newest counts.
        refused: What could not be read.
        target: What they were held against, in words.
        against: What to compare them with.
    """
    earlier = against.earlier
    kept, duplicates = _newest(hosts)
    present = {host.name for host in kept}
    missing = tuple(sorted(set(against.expected) - present))
    return Fleet(
        made_at=max((host.taken_at for host in kept), default=""),
        target=target,
        hosts=kept,
        groups=_groups(kept, missing),
        drift=drift.compare(kept, against.baseline),
        missing=missing,
        refused=tuple(refused),
        duplicates=duplicates,
        changes=_changes(kept, missing, earlier) if earlier is not None else None,
    )


def _newest(hosts: Iterable[Host]) -> tuple[tuple[Host, ...], tuple[Duplicate, ...]]:
    by_name: dict[str, list[Host]] = {}
    for host in hosts:
        by_name.setdefault(host.name, []).append(host)
    kept: list[Host] = []
    duplicates: list[Duplicate] = []
    for name, found in sorted(by_name.items()):
        newest = max(found, key=lambda host: (host.taken_at, host.origin))
        kept.append(newest)
        duplicates += [
            Duplicate(name, host.origin, newest.origin) for host in found if host is not newest
        ]
    return tuple(kept), tuple(duplicates)


def _groups(hosts: Sequence[Host], missing: Sequence[str]) -> tuple[Group, ...]:
    by_cause: dict[Cause, list[str]] = {}
    for host in hosts:
        if host.problem:
            cause = Cause(UNREACHED, "fail", "the host gave no report", host.problem)
            by_cause.setdefault(cause, []).append(host.name)
        for cause in host.causes:
            if cause.status in ACTED_ON:
                by_cause.setdefault(cause, []).append(host.name)
    if missing:
        cause = Cause(MISSING, "fail", "an expected host has no report", remedy=_MISSING_REMEDY)
        by_cause[cause] = list(missing)
    # What is to be done makes causes equal, not the numbers that each host read.
    together: dict[tuple[str, str, str], list[Cause]] = {}
    for cause in by_cause:
        together.setdefault((cause.id, cause.status, cause.remedy), []).append(cause)
    groups = [_group(causes, by_cause) for causes in together.values()]
    return tuple(
        sorted(groups, key=lambda each: (ACTED_ON.index(each.status), -len(each.hosts), each.id))
    )


def _group(causes: list[Cause], by_cause: dict[Cause, list[str]]) -> Group:
    causes = sorted(causes, key=lambda cause: (-len(by_cause[cause]), cause.title, cause.found))
    first = causes[0]
    variants: dict[tuple[str, str], list[str]] = {}
    for cause in causes:
        variants.setdefault((cause.found, cause.expected), []).extend(by_cause[cause])
    return Group(
        id=first.id,
        status=first.status,
        title=first.title,
        remedy=first.remedy,
        commands=first.commands,
        sources=first.sources,
        variants=tuple(
            Variant(found, expected, tuple(sorted(names)))
            for (found, expected), names in variants.items()
        ),
    )


def _changes(hosts: Sequence[Host], missing: Sequence[str], earlier: Earlier) -> Changes:
    now = {host.name: host.verdict for host in hosts} | dict.fromkeys(missing, "fail")
    failing = {name for name, verdict in now.items() if verdict == "fail"}
    return Changes(
        since=earlier.made_at,
        failing=tuple(sorted(failing - earlier.failed)),
        recovered=tuple(sorted((earlier.failed - failing) & now.keys())),
        appeared=tuple(sorted(now.keys() - earlier.hosts)),
        vanished=tuple(sorted(earlier.hosts - now.keys())),
    )
