"""A fleet's picture as CSV: one row a finding that somebody has to act on, for a spreadsheet."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from dsv4_doctor.fleet.model import ACTED_ON
from dsv4_doctor.fleet.picture import MISSING, UNREACHED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.fleet.model import Fleet

COLUMNS = ("host", "verdict", "status", "check", "title", "found", "expected", "remedy", "taken_at")

# What a spreadsheet takes for the beginning of a formula (OWASP, "CSV Injection").
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def render(fleet: Fleet) -> str:
    """Return the picture as CSV (RFC 4180) with a header; a host without findings has one row."""
    output = io.StringIO(newline="")
    writer = csv.writer(output)
    writer.writerow(COLUMNS)
    for row in _rows(fleet):
        writer.writerow([_inert(cell) for cell in row])
    return output.getvalue()


def _rows(fleet: Fleet) -> Iterator[tuple[str, ...]]:
    for host in fleet.hosts:
        acted = [cause for cause in host.causes if cause.status in ACTED_ON]
        if host.problem:
            yield (host.name, host.verdict, "fail", UNREACHED, "the host gave no report",
                   host.problem, "", "", host.taken_at)  # fmt: skip
        elif not acted:
            yield (host.name, host.verdict, "", "", "", "", "", "", host.taken_at)
        for cause in acted:
            yield (host.name, host.verdict, cause.status, cause.id, cause.title, cause.found,
                   cause.expected, cause.remedy, host.taken_at)  # fmt: skip
    for name in fleet.missing:
        yield (name, "fail", "fail", MISSING, "an expected host has no report", "", "", "", "")


def _inert(text: str) -> str:
    """Return text that no spreadsheet computes and that holds no control characters."""
    plain = "".join(each if each.isprintable() or each == "\n" else " " for each in text)
    return f"'{plain}" if plain.startswith(_FORMULA) or text.startswith(_FORMULA) else plain
