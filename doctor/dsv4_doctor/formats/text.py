"""A report for a person: what is wrong first, with what to do; one line for the rest."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dsv4_doctor.formats.plain import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import RenderableType

    from dsv4_doctor.report import Finding, Remedy, Report, Status

_MARKS: dict[Status, tuple[str, str]] = {
    "fail": ("✗", "bold red"),
    "warn": ("!", "bold yellow"),
    "unknown": ("?", "bold magenta"),
    "pass": ("✓", "green"),
    "skip": ("-", "dim"),
}
_VERDICTS = {"pass": "bold green", "fail": "bold red", "unknown": "bold magenta"}

# In this order, and with everything that was read: what somebody has to act on.
_DETAILED: tuple[Status, ...] = ("fail", "unknown", "warn")

# So many checks without a fact are one thing to say and not as many.
_SEVERAL = 3


def render(report: Report, console: Console) -> None:
    """Print the report on a console."""
    console.print(_head(report))
    together = _together(report.findings)
    for status in _DETAILED:
        for finding in report.findings:
            if finding.status == status and _reason(finding) not in together:
                console.print(_detail(finding))
        if status == "unknown":
            for reason, findings in together.items():
                console.print(_undecided(reason, findings))
    console.print(_rest(report.findings))
    console.print(_verdict(report))


def _head(report: Report) -> RenderableType:
    target = report.target
    archs = ", ".join(target.archs) or "the GPUs found"
    lines = Text()
    lines.append("dsv4-doctor", style="bold")
    host = printable(report.hostname) or "an unnamed host"
    lines.append(f" {report.tool_version} on {host}\n", style="dim")
    lines.append(f"target: vLLM {target.release}, {archs}, for {target.purpose}")
    if target.features:
        lines.append(f", with {', '.join(target.features)}")
    for note in report.notes:
        lines.append(f"\n{note}", style="dim")
    return Group(lines, Text())


def _detail(finding: Finding) -> RenderableType:
    mark, style = _MARKS[finding.status]
    title = Text.assemble((f"{mark} {printable(finding.title)}", style), (f"  {finding.id}", "dim"))
    return Group(title, Padding(Group(*_facts(finding)), (0, 0, 1, 4)))


def _reason(finding: Finding) -> str:
    """Return why a check could not be decided, empty for a finding that a check itself made."""
    if finding.status != "unknown" or not finding.found.startswith("probe "):
        return ""
    return finding.evidence[0].what.partition("; ")[0] if finding.evidence else ""


def _together(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """Return the findings of each reason that leaves several checks undecided."""
    by_reason: dict[str, list[Finding]] = {}
    for finding in findings:
        by_reason.setdefault(_reason(finding), []).append(finding)
    return {
        reason: several
        for reason, several in by_reason.items()
        if reason and len(several) >= _SEVERAL
    }


def _undecided(reason: str, findings: list[Finding]) -> RenderableType:
    mark, style = _MARKS["unknown"]
    title = Text(f"{mark} {len(findings)} checks could not be decided: {printable(reason)}", style)
    names = Text(printable(", ".join(finding.id for finding in findings)))
    return Group(title, Padding(names, (0, 0, 1, 4)))


def _facts(finding: Finding) -> Iterator[RenderableType]:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in (("found", finding.found), ("expected", finding.expected)):
        if value:
            table.add_row(label, Text(printable(value)))
    for evidence in finding.evidence:
        table.add_row("read", Text(printable(f"{evidence.where}: {evidence.what}")))
    for source in finding.source:
        table.add_row("source", Text(printable(f"{source.citation}: {source.requirement}")))
    if finding.remedy is not None:
        table.add_row("do", _remedy(finding.remedy))
    yield table


def _remedy(remedy: Remedy) -> Text:
    text = Text(printable(remedy.text), style="bold")
    for command in remedy.commands:
        # No `sudo` where it may not exist and is not needed: a container that runs as root.
        text.append(f"\n{printable(command.shell(sudo=os.geteuid() != 0))}", style="not bold cyan")
    return text


def _rest(findings: Iterable[Finding]) -> RenderableType:
    table = Table.grid(padding=(0, 1))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    shown = ""
    for finding in findings:
        if finding.status in _DETAILED:
            continue
        area = finding.id.partition(".")[0]
        mark, style = _MARKS[finding.status]
        table.add_row(
            Text(printable(area if area != shown else "")),
            Text(mark, style=style),
            Text(printable(finding.title), style="dim" if finding.status == "skip" else ""),
        )
        shown = area
    return table


def _verdict(report: Report) -> RenderableType:
    counts = ", ".join(
        f"{count} {_counted(status, count)}" for status, count in report.summary.items() if count
    )
    return Text.assemble(
        "\n", (f"verdict: {report.verdict}", _VERDICTS[report.verdict]), (f"  ({counts})", "dim")
    )


def _counted(status: Status, count: int) -> str:
    words = {"pass": "passed", "fail": "failed", "skip": "skipped", "unknown": "unknown"}
    return words.get(status) or ("warning" if count == 1 else "warnings")
