"""The checks as JSON, in the schema ``dsv4-doctor/checks/1``."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dsv4_doctor import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsv4_doctor.checks.catalogue import Entry

SCHEMA = "dsv4-doctor/checks/1"


def table(entries: Iterable[Entry]) -> str:
    """Return everything that is told of every check."""
    return _document([asdict(each) for each in entries])


def show(entry: Entry) -> str:
    """Return everything that is told of one check: the same document with one entry."""
    return _document([asdict(entry)])


def _document(checks: list[dict[str, Any]]) -> str:
    document = {
        "schema": SCHEMA,
        "tool": {"name": "dsv4-doctor", "version": __version__},
        "checks": checks,
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
