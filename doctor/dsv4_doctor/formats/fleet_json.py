"""A fleet's picture as JSON, in the schema ``dsv4-doctor/fleet/1``."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dsv4_doctor import __version__
from dsv4_doctor.fleet.model import SCHEMA
from dsv4_doctor.report import STATUSES

if TYPE_CHECKING:
    from dsv4_doctor.fleet.model import Fleet, Host


def render(fleet: Fleet) -> str:
    """Return the picture as JSON that ends with a line feed."""
    return json.dumps(document(fleet), ensure_ascii=False, indent=1) + "\n"


def document(fleet: Fleet) -> dict[str, Any]:
    """Return the picture as plain data."""
    return {
        "schema": SCHEMA,
        "tool": {"name": "dsv4-doctor", "version": __version__},
        "made_at": fleet.made_at,
        "target": fleet.target,
        "verdict": fleet.verdict,
        "summary": fleet.summary,
        "groups": [{**asdict(group), "hosts": len(group.hosts)} for group in fleet.groups],
        "drift": [asdict(each) for each in fleet.drift],
        "missing": list(fleet.missing),
        "refused": [asdict(each) for each in fleet.refused],
        "duplicates": [asdict(each) for each in fleet.duplicates],
        "changes": asdict(fleet.changes) if fleet.changes is not None else None,
        "hosts": [_host(host) for host in fleet.hosts],
    }


def _host(host: Host) -> dict[str, Any]:
    return {
        "name": host.name,
        "taken_at": host.taken_at,
        "origin": host.origin,
        "verdict": host.verdict,
        "problem": host.problem,
        "summary": {status: host.count(status) for status in STATUSES},
        "findings": {
            status: sorted({cause.id for cause in host.causes if cause.status == status})
            for status in ("fail", "unknown", "warn")
        },
        "facts": dict(host.facts),
    }
