"""A fleet's picture for a person at a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group as Lines
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dsv4_doctor.fleet.drift import differing
from dsv4_doctor.fleet.hostlist import fold
from dsv4_doctor.formats.console import bare_table
from dsv4_doctor.formats.plain import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console, RenderableType

    from dsv4_doctor.fleet.model import Fleet, Group

_STYLES = {"fail": "bold red", "warn": "bold yellow", "unknown": "bold magenta", "pass": "green"}
_MARKS = {"fail": "✗", "warn": "!", "unknown": "?"}
# Characters of a list of hosts, and values of a fact, that are printed; JSON has them all.
_MAX_LIST = 400
_MAX_VALUES = 6


def render(fleet: Fleet, console: Console) -> None:
    """Print the picture on a console."""
    for part in _parts(fleet):
        console.print(part)


def _parts(fleet: Fleet) -> Iterator[RenderableType]:
    if fleet.target:
        yield Text(f"target: {printable(fleet.target)}\n", style="dim")
    for group in fleet.groups:
        yield _group(group)
    if differing(fleet.drift):
        yield _drift(fleet)
    yield from _changes(fleet)
    yield from _documents(fleet)
    counts = ", ".join(f"{count} {word}" for word, count in fleet.summary.items() if count)
    verdict = (f"verdict: {fleet.verdict}", _STYLES[fleet.verdict])
    yield Text.assemble(verdict, (f"  ({counts or 'no hosts'})", "dim"))


def _group(group: Group) -> RenderableType:
    title = Text.assemble(
        (f"{_MARKS[group.status]} {printable(group.title)}", _STYLES[group.status]),
        (f"  {group.id}", "dim"),
        f"  {_hosts(len(group.hosts))}",
    )
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for variant in group.variants[:_MAX_VALUES]:
        if variant.found:
            table.add_row("found", Text(printable(variant.found)))
        if variant.expected:
            table.add_row("expected", Text(printable(variant.expected)))
        table.add_row(f"on {len(variant.hosts)}", _names(variant.hosts))
    if len(group.variants) > _MAX_VALUES:
        left = len(group.variants) - _MAX_VALUES
        table.add_row("", Text(f"and {left} more ways; --format json has all", style="dim"))
    if group.remedy:
        remedy = Text(printable(group.remedy), style="bold")
        for command in group.commands:
            remedy.append(f"\n{printable(command)}", style="not bold cyan")
        table.add_row("do", remedy)
    return Lines(title, Padding(table, (0, 0, 1, 4)))


def _hosts(count: int) -> str:
    return f"{count} host" if count == 1 else f"{count} hosts"


def _names(names: Sequence[str]) -> Text:
    text = printable(fold(names))
    return Text(text if len(text) <= _MAX_LIST else f"{text[:_MAX_LIST]} …")


def _drift(fleet: Fleet) -> RenderableType:
    table = bare_table()
    for title in ("drift", "expected", "hosts", "others"):
        table.add_column(title, overflow="fold")
    for each in differing(fleet.drift):
        others = Text()
        for other in each.outliers[:_MAX_VALUES]:
            line = f"{printable(other.value)} on {len(other.hosts)}: "
            others.append("\n" if others else "").append(line).append(_names(other.hosts))
        if len(each.outliers) > _MAX_VALUES:
            others.append(f"\nand {len(each.outliers) - _MAX_VALUES} more values", style="dim")
        expected = Text(printable(each.expected))
        table.add_row(each.fact, expected, f"{each.count}/{each.total}", others)
    return Padding(table, (0, 0, 1, 0))


def _changes(fleet: Fleet) -> Iterator[RenderableType]:
    changes = fleet.changes
    if changes is None:
        return
    for word, names, style in (
        ("newly failing", changes.failing, "bold red"),
        ("recovered", changes.recovered, "green"),
        ("new", changes.appeared, ""),
        ("gone", changes.vanished, "bold yellow"),
    ):
        if names:
            head = (f"{word} since {printable(changes.since)}: {len(names)}: ", style)
            yield Text.assemble(head, _names(names))


def _documents(fleet: Fleet) -> Iterator[RenderableType]:
    for each in fleet.refused:
        text = f"not read: {printable(each.origin)}: {printable(each.reason)}"
        yield Text(text, style="bold magenta")
    for twin in fleet.duplicates:
        text = (
            f"{printable(twin.host)}: {printable(twin.origin)} is older than {printable(twin.kept)}"
        )
        yield Text(text, style="dim")
