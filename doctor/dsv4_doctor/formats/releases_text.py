"""Answers over releases for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from dsv4_doctor.formats.plain import printable
from dsv4_doctor.releases.compare import changes, entries

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

    from dsv4_doctor.knowledge.model import Release
    from dsv4_doctor.releases.compare import Entry
    from dsv4_doctor.releases.find import Fit

_SIGNS = {"added": ("+", "green"), "removed": ("-", "red"), "changed": ("~", "yellow")}


def table(releases: Iterable[Release], features: Sequence[str], console: Console) -> None:
    """Print one line a release."""
    shown = _bare_table()
    for name in ("vLLM", "Python", "torch", "CUDA", "gcc"):
        shown.add_column(name, no_wrap=True)
    shown.add_column("features", overflow="fold")
    for each in releases:
        gcc = ", ".join(
            f">={floor.minimum}{'' if floor.scope == 'all' else ' for CUDA'}" for floor in each.gcc
        )
        shown.add_row(
            each.name,
            each.requires_python.value,
            each.torch.value,
            each.main_cuda.value,
            gcc or "any",
            " ".join(name for name in features if each.has(name)),
        )
    console.print(shown)


def show(release: Release, notes: Sequence[str], console: Console) -> None:
    """Print everything that is known of one release, each thing with its source."""
    console.print(Text(f"vLLM {printable(release.name)}", style="bold"))
    for note in (*notes, *(f"not established: {each}" for each in release.not_established)):
        console.print(Text(printable(note), style="dim"))
    for topic, listed in entries(release):
        if not listed:
            continue
        console.print()
        console.print(Text(topic, style="bold"))
        shown = _bare_table(header=False)
        for name, entry in listed.items():
            shown.add_row(*_cells(name, entry))
        console.print(shown)
    _notes(release, console)
    _absent(release, console)


def _notes(release: Release, console: Console) -> None:
    noted = [each for each in release.features.values() if each.present and each.note]
    if noted:
        console.print()
        console.print(Text("notes", style="bold"))
    for each in noted:
        console.print(Text(f"  {each.name}: {printable(each.note)}"))


def _absent(release: Release, console: Console) -> None:
    absent = [each for each in release.features.values() if not each.present]
    if absent:
        console.print()
        console.print(Text("not in this release", style="bold"))
    for each in absent:
        when = f"last in {each.last}" if each.last else f"first in {each.first}"
        console.print(Text(f"  {each.name}: {when}"))


def difference(old: Release, new: Release, console: Console) -> None:
    """Print what changed, with the line of the release that has it."""
    console.print(Text(f"from vLLM {printable(old.name)} to {printable(new.name)}", style="bold"))
    topic = ""
    for each in changes(old, new):
        if each.topic != topic:
            topic = each.topic
            console.print()
            console.print(Text(topic, style="bold"))
        sign, style = _SIGNS[each.kind]
        line = Text(f"{sign} {printable(each.name)}", style=style)
        values = [entry.value for entry in (each.before, each.after) if entry is not None]
        line.append(f"  {printable(' → '.join(values))}", style="default")
        entry = each.after or each.before
        if entry is not None and entry.place is not None:
            line.append(f"  {printable(str(entry.place))}", style="dim")
        console.print(line)


def found(fits: Iterable[Fit], console: Console) -> None:
    """Print which releases fit, newest first, and the first thing in the way of the others."""
    for each in fits:
        line = Text("✓ " if each.good else "✗ ", style="green" if each.good else "red")
        line.append(each.release.name.ljust(9), style="bold" if each.good else "default")
        if each.obstacles:
            first = each.obstacles[0]
            line.append(printable(first.text), style="default")
            if len(each.obstacles) > 1:
                line.append(f" (and {len(each.obstacles) - 1} more)", style="default")
            if first.place is not None:
                line.append(f"  {printable(str(first.place))}", style="dim")
        console.print(line)


def _cells(name: str, entry: Entry) -> tuple[Text, Text, Text]:
    place = printable(str(entry.place)) if entry.place is not None else ""
    return Text(printable(name)), Text(printable(entry.value)), Text(place, style="dim")


def _bare_table(*, header: bool = True) -> Table:
    return Table(box=None, pad_edge=False, show_header=header, header_style="bold")
