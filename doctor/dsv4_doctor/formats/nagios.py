"""A report as a monitoring plugin says it: one line, performance data, then what is wrong.

The form is that of the Monitoring Plugins Development Guidelines. Nagios hands plugin output to
shells and web pages, so characters that mean something there are replaced by ones that look alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.formats.plain import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.report import Finding, Report, Status

OK, WARNING, CRITICAL, UNKNOWN = range(4)
_NAMES = ("OK", "WARNING", "CRITICAL", "UNKNOWN")

# In this order a finding is worth the first line.
_WORST: tuple[Status, ...] = ("fail", "unknown", "warn")

# Thresholds as in performance data: an alert for anything outside of 0.
_THRESHOLDS: dict[Status, str] = {"warn": "0;;0", "fail": ";0;0"}

# Bytes that Nagios Core keeps of a plugin's output (MAX_PLUGIN_OUTPUT_LENGTH in include/nagios.h).
_LIMIT = 8192

# First whole signs, then single characters: what is left of <, > and & looks like them.
_SIGNS = (("<=", "≤"), (">=", "≥"), ("->", "→"))
_ALIKE = str.maketrans(
    {
        "|": "¦",
        "<": "\u2039",
        ">": "\u203a",
        "&": "\uff06",
        "$": "\uff04",
        "`": "\u2018",
        "'": "\u2019",
        '"': "\u201d",
        # Nagios takes a backslash and an n for a line feed.
        "\\": "/",
    }
)
_LONGEST = 500


def status(report: Report, *, strict: bool = False) -> int:
    """Return the plugin's exit status: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN."""
    counts = report.summary
    if counts["fail"] or (strict and counts["warn"]):
        return CRITICAL
    if counts["unknown"]:
        return UNKNOWN
    return WARNING if counts["warn"] else OK


def render(report: Report, *, strict: bool = False) -> str:
    """Return the plugin's output, at most as long as Nagios reads."""
    counts = report.summary
    said = ", ".join(f"{counts[each]} {each}" for each in _WORST if counts[each])
    wrong = [each for kind in _WORST for each in report.findings if each.status == kind]
    first = f" - {wrong[0].id}: {wrong[0].title}" if wrong else ""
    head = _line(status(report, strict=strict), (said or f"{counts['pass']} pass") + first)
    data = " ".join(
        f"{each}={count};{_THRESHOLDS.get(each, ';;0')}" for each, count in counts.items()
    )
    return _shortened([f"{head} | {data}", *(line for each in wrong for line in _long(each))])


def unknown(message: str) -> str:
    """Return the output for a check that could not be made at all."""
    return _line(UNKNOWN, message) + "\n"


def _line(code: int, text: str) -> str:
    return f"DSV4_DOCTOR {_NAMES[code]} - {_harmless(text)}"


def _long(finding: Finding) -> Iterator[str]:
    yield _harmless(f"[{finding.status}] {finding.id}: {finding.title}")
    if finding.remedy is not None:
        yield _harmless(f"  do: {finding.remedy.text}")


def _harmless(text: str) -> str:
    line = one_line(text)
    for sign, alike in _SIGNS:
        line = line.replace(sign, alike)
    return line.translate(_ALIKE)[:_LONGEST]


def _shortened(lines: list[str]) -> str:
    kept: list[str] = []
    size = 0
    for at, line in enumerate(lines):
        size += len(line.encode()) + 1
        if size > _LIMIT - 40:
            kept.append(f"and {len(lines) - at} more lines")
            break
        kept.append(line)
    return "\n".join(kept) + "\n"
