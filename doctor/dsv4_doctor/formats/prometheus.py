"""A report as metrics in the text format that node_exporter's textfile collector reads.

Every series says how things stand now: one of a status that no longer holds is not written, so that
an alert on it ends.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING

from dsv4_doctor.formats.plain import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsv4_doctor.report import Report


def render(report: Report) -> str:
    """Return the metrics, each with its help and type."""
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: Report) -> Iterator[str]:
    target = report.target
    about = {
        "version": report.tool_version,
        "host": report.hostname,
        "vllm": target.release,
        "purpose": target.purpose,
        "archs": ",".join(target.archs),
    }
    yield from _metric("info", "What was checked, and by which doctor.", [(about, 1)])
    yield from _metric(
        "findings",
        "Findings of each status.",
        [({"status": status}, count) for status, count in report.summary.items()],
    )
    counts = Counter((finding.id, finding.status) for finding in report.findings)
    yield from _metric(
        "finding",
        "Findings of one id that have this status now.",
        [({"id": name, "status": status}, count) for (name, status), count in counts.items()],
    )
    verdicts = [({"verdict": each}, int(each == report.verdict)) for each in _VERDICTS]
    yield from _metric("verdict", "The verdict: one of the three is 1.", verdicts)
    taken = _seconds(report.taken_at)
    if taken is not None:
        yield from _metric(
            "facts_timestamp_seconds", "When the facts were taken, in Unix time.", [({}, taken)]
        )


_VERDICTS = ("pass", "fail", "unknown")


def _metric(name: str, text: str, samples: Iterable[tuple[dict[str, str], float]]) -> Iterator[str]:
    full = f"dsv4_doctor_{name}"
    yield f"# HELP {full} {text}"
    yield f"# TYPE {full} gauge"
    for labels, value in samples:
        inside = ",".join(f'{label}="{_label(text)}"' for label, text in labels.items())
        yield f"{full}{{{inside}}} {value}" if inside else f"{full} {value}"


def _label(text: str) -> str:
    escaped = printable(text).replace("\\", "\\\\").replace('"', '\\"')
    return escaped.replace("\n", "\\n")


def _seconds(taken_at: str) -> float | None:
    """Return an ISO 8601 time as seconds since 1970, ``None`` for text that is none."""
    try:
        return datetime.fromisoformat(taken_at).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
