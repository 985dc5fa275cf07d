"""A report as Markdown, to be pasted into an issue: what is wrong first, the rest folded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.formats.details import details
from dsv4_doctor.formats.markdown_text import code, escaped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.report import Finding, Report, Status

_HEADINGS: dict[Status, str] = {
    "fail": "Failed",
    "unknown": "Could not be told",
    "warn": "Warnings",
}


def render(report: Report) -> str:
    """Return the report as Markdown that ends with a line feed."""
    return "\n".join(_blocks(report)) + "\n"


def _blocks(report: Report) -> Iterator[str]:
    target = report.target
    archs = ", ".join(target.archs) or "the GPUs found"
    yield f"### dsv4-doctor {escaped(report.tool_version)}: {report.verdict}\n"
    features = f", with {', '.join(target.features)}" if target.features else ""
    about = f"vLLM {target.release}, {archs}, for {target.purpose}{features}"
    yield f"Target: {escaped(about)}\n"
    for note in report.notes:
        yield f"- note: {escaped(note)}"
    counts = ", ".join(f"{count} {name}" for name, count in report.summary.items() if count)
    yield f"\n{counts}\n"
    for kind, heading in _HEADINGS.items():
        wrong = [each for each in report.findings if each.status == kind]
        if wrong:
            yield f"#### {heading}\n"
            for finding in wrong:
                yield from _finding(finding)
    yield from _rest(report)


def _finding(finding: Finding) -> Iterator[str]:
    # The id first: text that stands at the start of a line could be a list or a heading.
    yield f"{code(finding.id)}: {escaped(finding.title)}\n"
    for label, text in details(finding):
        shown = escaped(text) if label == "do" else code(text)
        yield f"- {label}: {shown}"
    yield ""


def _rest(report: Report) -> Iterator[str]:
    rest = [each for each in report.findings if each.status not in _HEADINGS]
    if not rest:
        return
    yield f"<details><summary>{len(rest)} passed or skipped</summary>\n"
    yield "| status | check | |"
    yield "| --- | --- | --- |"
    for each in rest:
        yield f"| {each.status} | {escaped(each.id)} | {escaped(each.title)} |"
    yield "\n</details>"
