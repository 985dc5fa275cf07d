"""Answers over releases for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from dsv4_doctor.formats.plain import printable
from dsv4_doctor.releases.compare import changes
from dsv4_doctor.releases.tables import CHOICES, KERNELS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

    from dsv4_doctor.knowledge.model import Release
    from dsv4_doctor.releases.compare import Change, Side
    from dsv4_doctor.releases.entry import Entry
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


def show(shown: Side, notes: Sequence[str], topics: Sequence[str], console: Console) -> None:
    """Print everything that is known of one release, each thing with its source.

    Args:
        shown: The release.
        notes: Said first.
        topics: Beginnings of the topics that are wanted, empty for all.
        console: Where to.
    """
    release = shown.release
    console.print(Text(f"vLLM {printable(release.name)}", style="bold"))
    for note in (*notes, *(f"not established: {each}" for each in release.not_established)):
        console.print(Text(printable(note), style="dim"))
    for topic, listed in shown.entries():
        if not listed or not wanted(topic, topics):
            continue
        console.print()
        console.print(Text(topic, style="bold"))
        table = _bare_table(header=False)
        for name, entry in listed.items():
            table.add_row(*_cells(name, entry))
        console.print(table)
    if wanted("feature", topics):
        _notes(release, console)
        _absent(release, console)


def wanted(topic: str, topics: Sequence[str]) -> bool:
    """Whether a topic is among those asked for, by its beginning."""
    return not topics or any(topic.startswith(each) for each in topics)


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


def difference(old: Side, new: Side, topics: Sequence[str], console: Console) -> None:
    """Print what changed, with the line of the release that has it."""
    names = printable(old.release.name), printable(new.release.name)
    console.print(Text(f"from vLLM {names[0]} to {names[1]}", style="bold"))
    topic = ""
    for each in changes(old, new):
        if not wanted(each.topic, topics):
            continue
        if each.topic != topic:
            topic = each.topic
            console.print()
            console.print(Text(topic, style="bold"))
        sign, style = _SIGNS[each.kind]
        line = Text(f"{sign} {printable(each.name)}", style=style)
        line.append(f"  {printable(_change(each))}", style="default")
        entry = each.after or each.before
        if entry is not None and entry.place is not None:
            line.append(f"  {printable(str(entry.place))}", style="dim")
        console.print(line)


def _change(change: Change) -> str:
    """Both values; of a long list or of architectures by compiler only what came and went."""
    values = [entry.value for entry in (change.before, change.after) if entry is not None]
    if len(values) == 2 and change.topic == KERNELS:
        before, after = (value.split("; ") for value in values)
        values = [
            "; ".join(each for each in before if each not in after) or "nothing",
            "; ".join(each for each in after if each not in before) or "nothing",
        ]
    if change.topic not in CHOICES or len(values) != 2:
        return " → ".join(values)
    before, after = (value.split() for value in values)
    came = [f"+{each}" for each in after if each not in before]
    return " ".join([*came, *(f"-{each}" for each in before if each not in after)])


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
