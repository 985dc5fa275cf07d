"""A diagnosis for a person: what happened first, why, and what to do."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dsv4_doctor.formats.plain import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, RenderableType

    from dsv4_doctor.logs.diagnosis import Cause, Diagnosis, Followed
    from dsv4_doctor.report import Remedy

# Things that followed which are listed; JSON has all.
_FOLLOWED = 4


def render(diagnosis: Diagnosis, console: Console) -> None:
    """Print what was said on a console."""
    for line in _head(diagnosis):
        console.print(line)
    for position, cause in enumerate(diagnosis.causes):
        console.print(_cause(cause, "first cause" if position == 0 else "also"))
    for hint in diagnosis.hints:
        console.print(_cause(hint, "perhaps"))
    for part in _rest(diagnosis):
        console.print(part)


def _head(diagnosis: Diagnosis) -> Iterator[Text]:
    read = f"{diagnosis.lines} lines, {diagnosis.size / 1e6:.1f} MB"
    yield Text.assemble((printable(diagnosis.source), "bold"), (f"  {read}", "dim"))
    for note in diagnosis.notes:
        yield Text(f"note: {printable(note)}", style="dim")
    yield Text()
    if diagnosis.causes:
        return
    if diagnosis.success is None:
        yield Text("? no known cause stands in this log", style="bold magenta")
    else:
        yield Text(f"✓ nothing failed: {_ending(diagnosis.success)}", style="green")


def _ending(success: Followed) -> str:
    return f"it ends with success, {success.title} (line {success.line})"


def _cause(cause: Cause, rank: str) -> RenderableType:
    style = "bold magenta" if rank == "perhaps" else "bold red"
    mark = "?" if rank == "perhaps" else "✗"
    title = Text.assemble(
        (f"{mark} {rank}: {cause.title}", style),
        (f"  {cause.id}, confidence {cause.confidence}", "dim"),
    )
    return Group(title, Padding(_facts(cause), (0, 0, 1, 4)))


def _facts(cause: Cause) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for line in cause.lines:
        table.add_row(f"line {line.number}", Text(printable(line.text)))
    if cause.count > len(cause.lines):
        table.add_row("", Text(f"{cause.count} lines of it", style="dim"))
    for label, value in _said(cause):
        table.add_row(label, Text(printable(value)))
    if cause.remedy is not None:
        table.add_row("do here" if cause.concrete else "do", _remedy(cause.remedy))
    return table


def _said(cause: Cause) -> Iterator[tuple[str, str]]:
    if cause.units:
        yield "in", ", ".join(cause.units)
    if cause.streams:
        yield "from", ", ".join(cause.streams)
    yield "why", cause.explanation
    if cause.look_alike:
        yield "not", cause.look_alike
    if cause.established:
        yield "known", cause.established
    for known in cause.known:
        yield "check", f"{known.status}: {known.title} ({known.id})"
    if cause.check and not cause.known:
        yield "check", f"`dsv4-doctor check` says it beforehand: {cause.check}"
    if cause.sources:
        yield "reports", ", ".join(cause.sources)
    followed = [f"{each.title} (line {each.line})" for each in cause.followed]
    if followed:
        more = f" and {len(followed) - _FOLLOWED} more" if len(followed) > _FOLLOWED else ""
        yield "then", "; ".join(followed[:_FOLLOWED]) + more


def _remedy(remedy: Remedy) -> Text:
    text = Text(printable(remedy.text), style="bold")
    for command in remedy.commands:
        text.append(f"\n{printable(command.shell(sudo=os.geteuid() != 0))}", style="not bold cyan")
    return text


def _rest(diagnosis: Diagnosis) -> Iterator[RenderableType]:
    for remark in diagnosis.remarks:
        yield Text(f"besides: {remark.title} (line {remark.line.number})", style="yellow")
        yield Padding(Text(printable(remark.explanation)), (0, 0, 0, 4))
    for each in diagnosis.overcome:
        text = f"overcome: {each.title} (line {each.line}), a success followed"
        yield Text(printable(text), style="dim")
    if diagnosis.telling:
        yield Text("the lines that say the most:", style="dim")
        for line in diagnosis.telling:
            yield Padding(Text(f"{line.number}: {printable(line.text)}"), (0, 0, 0, 4))
