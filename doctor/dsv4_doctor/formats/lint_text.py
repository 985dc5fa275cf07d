"""What lint says for a person: what is wrong first, with what to do, and the corrected command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dsv4_doctor.formats.plain import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from dsv4_doctor.lint.linting import Server
    from dsv4_doctor.lint.problem import Problem, Status
    from dsv4_doctor.lint.report import LintReport

_MARKS: dict[Status, tuple[str, str]] = {
    "fail": ("✗", "bold red"),
    "warn": ("!", "bold yellow"),
    "unknown": ("?", "bold magenta"),
}


def render(report: LintReport, console: Console) -> None:
    """Print the report on a console."""
    for note in report.notes:
        console.print(Text(printable(note), style="dim"))
    for server in report.servers:
        console.print(_head(server, report.file))
        for problem in server.problems:
            console.print(_problem(problem, report.file))
        for note in server.notes:
            console.print(Text(f"note: {printable(note)}", style="dim"))
    console.print(_verdict(report))


def _head(server: Server, file: str) -> RenderableType:
    place = f"{file}:{server.line}" if file and server.line else file
    parts = [each for each in (place, server.where) if each]
    model = f" {server.model}" if server.model else ""
    text = Text.assemble(
        (f"vllm serve{printable(model)}", "bold"),
        (f"  {printable(', '.join(parts))}" if parts else "", "dim"),
    )
    text.append(
        f"\nvLLM {server.release}, {server.flags} options, {server.variables} variables\n", "dim"
    )
    return text


def _problem(problem: Problem, file: str) -> RenderableType:
    mark, style = _MARKS[problem.status]
    title = Text.assemble((f"{mark} {printable(problem.title)}", style), (f"  {problem.id}", "dim"))
    return Group(title, Padding(Group(*_details(problem, file)), (0, 0, 1, 4)))


def _details(problem: Problem, file: str) -> Iterator[RenderableType]:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    found = printable(problem.found)
    if problem.line and file:
        found += f"  ({printable(file)}:{problem.line})"
    rows = [("found", found), ("expected", problem.expected)]
    for label, value in rows:
        if value.strip():
            table.add_row(label, Text(printable(value)))
    for source in problem.source:
        table.add_row("source", Text(printable(f"{source.citation}: {source.requirement}")))
    if problem.do:
        table.add_row("do", Text(printable(problem.do), style="bold"))
    yield table


def _verdict(report: LintReport) -> RenderableType:
    counts = dict.fromkeys(_MARKS, 0)
    for server in report.servers:
        for problem in server.problems:
            counts[problem.status] += 1
    words = {"fail": "failed", "warn": "worth a change", "unknown": "could not be told"}
    shown = ", ".join(f"{count} {words[name]}" for name, count in counts.items() if count)
    style = "bold green" if report.verdict == "pass" else "bold red"
    said = "nothing is wrong" if report.verdict == "pass" else "something is wrong"
    text = Text.assemble((said, style), (f"  ({shown})" if shown else "", "dim"))
    if any(each.fixed for each in report.servers):
        text.append("\n--fix prints the corrected command", style="dim")
    return text
