"""A fleet's picture as one HTML file that needs nothing else: no network, no server, no build."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dsv4_doctor import __version__
from dsv4_doctor.fleet.model import ACTED_ON
from dsv4_doctor.formats.html_page import assemble
from dsv4_doctor.resources import files

if TYPE_CHECKING:
    from dsv4_doctor.fleet.model import Cause, Fleet, Host

# One letter a cell keeps ten thousand hosts within a few megabytes.
_LETTERS = {"pass": "p", "skip": "s", "warn": "w", "unknown": "u", "fail": "f", "": "."}
_WORST = ("fail", "unknown", "warn", "pass", "skip")


def render(fleet: Fleet) -> str:
    """Return the page."""
    return assemble(files(__package__) / "fleet_page", "fleet", _document(fleet))


def _document(fleet: Fleet) -> dict[str, Any]:
    checks = _checks(fleet)
    causes: dict[Cause, int] = {}
    numbers = {host.name: at for at, host in enumerate(fleet.hosts)}
    hosts = [_host(host, checks, causes) for host in fleet.hosts]
    return {
        "version": __version__,
        "made_at": fleet.made_at,
        "target": fleet.target,
        "verdict": fleet.verdict,
        "summary": fleet.summary,
        "checks": checks,
        "causes": [_cause(cause) for cause in causes],
        "hosts": hosts,
        "groups": [
            {
                "id": group.id,
                "status": group.status,
                "title": group.title,
                "remedy": group.remedy,
                "commands": group.commands,
                # A missing host has no row; its name stands in the group itself.
                "variants": [
                    {
                        "found": each.found,
                        "expected": each.expected,
                        "hosts": [numbers.get(name, name) for name in each.hosts],
                    }
                    for each in group.variants
                ],
            }
            for group in fleet.groups
        ],
        "drift": [
            {
                "fact": each.fact,
                "expected": each.expected,
                "count": each.count,
                "total": each.total,
                "outliers": [
                    {"value": other.value, "hosts": [numbers[name] for name in other.hosts]}
                    for other in each.outliers
                ],
            }
            for each in fleet.drift
        ],
        "missing": fleet.missing,
        "refused": [[each.origin, each.reason] for each in fleet.refused],
        "duplicates": [[each.host, each.origin, each.kept] for each in fleet.duplicates],
        "changes": _changes(fleet),
    }


def _checks(fleet: Fleet) -> list[str]:
    """Return the ids of all checks, in the order in which the hosts give them."""
    found: dict[str, None] = {}
    for host in fleet.hosts:
        found.update(dict.fromkeys(cause.id for cause in host.causes))
    return list(found)


def _host(host: Host, checks: list[str], causes: dict[Cause, int]) -> list[Any]:
    worst: dict[str, str] = {}
    for cause in host.causes:
        known = worst.get(cause.id)
        if known is None or _WORST.index(cause.status) < _WORST.index(known):
            worst[cause.id] = cause.status
    cells = "".join(_LETTERS[worst.get(check, "")] for check in checks)
    acted = [cause for cause in host.causes if cause.status in ACTED_ON]
    numbers = [causes.setdefault(cause, len(causes)) for cause in acted]
    return [host.name, host.verdict, cells, numbers, host.taken_at, host.problem]


def _cause(cause: Cause) -> list[Any]:
    texts = [cause.id, cause.status, cause.title, cause.found, cause.expected, cause.remedy]
    return [*texts, cause.commands, cause.sources]


def _changes(fleet: Fleet) -> dict[str, Any] | None:
    changes = fleet.changes
    if changes is None:
        return None
    return {
        "since": changes.since,
        "newly failing": changes.failing,
        "recovered": changes.recovered,
        "new": changes.appeared,
        "gone": changes.vanished,
    }
