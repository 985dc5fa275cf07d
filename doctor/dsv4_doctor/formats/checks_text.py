"""The checks for a person: a table of all, and a page for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from dsv4_doctor.checks.catalogue import address
from dsv4_doctor.formats.console import bare_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import Console

    from dsv4_doctor.checks.catalogue import Entry
    from dsv4_doctor.checks.registry import Check


def table(checks: Iterable[Check], console: Console) -> None:
    """Print one line a check."""
    shown = bare_table()
    shown.add_column("check", no_wrap=True)
    shown.add_column("looks at", overflow="fold")
    shown.add_column("reads", overflow="fold")
    for each in checks:
        shown.add_row(each.id, each.title, ", ".join(each.reads))
    console.print(shown)


def show(entry: Entry, console: Console) -> None:
    """Print everything that is told of one check."""
    console.print(Text.assemble((entry.id, "bold"), (f"  {entry.title}", "dim")))
    shown = Table.grid(padding=(0, 2))
    shown.add_column(style="dim", no_wrap=True)
    shown.add_column(overflow="fold")
    for label, text in _rows(entry):
        shown.add_row(label, text)
    console.print(shown)


def _rows(entry: Entry) -> Iterator[tuple[str, str]]:
    yield "decides", entry.decides
    if entry.why:
        yield "why", entry.why
    if entry.findings != (entry.id,):
        yield "gives", ", ".join(entry.findings)
    for each in entry.reads:
        yield "reads", f"{each.name}: {each.what}" if each.what else each.name
    for report in entry.reports:
        yield "would have prevented", address(report)
    yield "fix", entry.fix
    yield "switch off", f"dsv4-doctor check --ignore {entry.id}"
    yield "source", entry.module
