"""An inspection for a person: a line for each object and family, then each requirement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from dsv4_doctor.binary.demangle import demangle
from dsv4_doctor.binary.verdicts import name_of
from dsv4_doctor.formats import linkage_text
from dsv4_doctor.formats.console import bare_table
from dsv4_doctor.formats.inspection_view import (
    Rows,
    by_arch_rows,
    by_family_rows,
    layer_rows,
    megabytes,
    short_archs,
)
from dsv4_doctor.formats.plain import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rich.console import Console
    from rich.table import Table

    from dsv4_doctor.binary.contents import Inspection, SharedObject
    from dsv4_doctor.binary.requirements import Decision, Status
    from dsv4_doctor.formats.inspection_view import View
    from dsv4_doctor.images.image import ImageSummary

_MARKS: dict[Status, tuple[str, str]] = {
    "present": ("✓", "green"),
    "missing": ("✗", "bold red"),
    "unknown": ("?", "bold magenta"),
}

_CLAIMS = {"true": ("✓", "green"), "false": ("✗", "bold red"), "unknown": ("?", "bold magenta")}

_RUNS = {"all": ("✓", "green"), "some": ("~", "yellow"), "none": ("✗", "bold red")}

# Mangled names of CUTLASS kernels run to thousands of characters; JSON has them whole.
_NAME_SHOWN = 96


def render(view: View, console: Console) -> None:
    """Print what was found and decided on a console."""
    inspection = view.inspection
    readable = demangle(_names(view))
    console.print(Text(printable(inspection.path), style="bold"))
    if view.image is not None:
        _image(view.image, console)
    with_code = [each for each in inspection.objects if each.images]
    if with_code:
        console.print(_table(with_code))
    for note in _notes(inspection):
        console.print(note)
    if any(each.families for each in inspection.objects):
        console.print(_families(inspection))
    for line in _gpus(inspection):
        console.print(line)
    if inspection.linkage is not None:
        linkage_text.render(inspection, inspection.linkage, console, readable)
    _all_sizes(view, console)
    for decision in view.decisions:
        for line in _decision(decision, readable):
            console.print(line)


def _all_sizes(view: View, console: Console) -> None:
    if view.by_arch is not None:
        console.print(_sizes(by_arch_rows(view.by_arch)))
    if view.by_family is not None:
        console.print(_sizes(by_family_rows(view.by_family)))


def _image(image: ImageSummary, console: Console) -> None:
    console.print(Text(printable(f"image for {image.platform}  {image.digest}".rstrip())))
    console.print(_sizes(layer_rows(image)))
    pulled = megabytes(sum(each.size for each in image.layers))
    unpacked = megabytes(sum(each.unpacked for each in image.layers))
    console.print(Text(f"{pulled} to pull, {unpacked} unpacked", style="dim"))
    for each in image.claims:
        mark, style = _CLAIMS[each.status]
        line = f"{mark} {each.label} {each.value}: {each.reason}"
        console.print(Text(printable(line), style=style))


def _names(view: View) -> Iterator[str]:
    yield from (each.kernel for each in view.decisions)
    if view.inspection.linkage is not None:
        yield from linkage_text.names_shown(view.inspection.linkage)


def _table(objects: Iterable[SharedObject]) -> Table:
    table = bare_table()
    table.add_column("object", overflow="fold")
    table.add_column("size", justify="right", no_wrap=True)
    table.add_column("machine code", overflow="fold")
    table.add_column("PTX", overflow="fold")
    for each in objects:
        table.add_row(
            printable(each.name),
            megabytes(each.size),
            short_archs(each.sass),
            short_archs(each.ptx),
        )
    return table


def _families(inspection: Inspection) -> Table:
    table = bare_table()
    table.add_column("kernels of", no_wrap=True)
    table.add_column("number" if inspection.complete else "read", justify="right", no_wrap=True)
    table.add_column("machine code", overflow="fold")
    table.add_column("object", overflow="fold")
    for each in inspection.objects:
        for family in dict.fromkeys(found.family for found in each.families):
            proofs = [found for found in each.families if found.family == family]
            number = sum(found.kernels for found in proofs)
            archs = tuple(found.arch for found in proofs)
            table.add_row(family, f"{number}", short_archs(archs), printable(each.name))
    return table


def _sizes(rows: Rows) -> Table:
    table = bare_table()
    for title, numeric in rows.columns:
        table.add_column(title, justify="right" if numeric else "left", no_wrap=numeric)
    for row in rows.rows:
        table.add_row(*map(printable, row))
    return table


def _gpus(inspection: Inspection) -> Iterator[Text | Padding]:
    judged = [(each.name, verdict) for each in inspection.objects for verdict in each.verdicts]
    for gpu in dict.fromkeys(verdict.gpu for _, verdict in judged):
        yield Text(f"on {name_of(gpu)}", style="bold")
        for name, verdict in judged:
            if verdict.gpu == gpu:
                mark, style = _RUNS[verdict.runs]
                yield Text(f"{mark} {printable(name)}", style=style)
                yield Padding(Text(printable(verdict.reason)), (0, 0, 0, 4))


def _notes(inspection: Inspection) -> Iterator[Text]:
    without = [each.name for each in inspection.objects if not each.images and not each.error]
    if without:
        yield Text(f"no device code: {printable(', '.join(without))}", style="dim")
    if not inspection.objects:
        yield Text("no object file, library or program in it", style="dim")
    for each in inspection.objects:
        if each.error is not None:
            yield Text(f"! {printable(each.name)}: {printable(each.error)}", style="bold yellow")
        for unread in each.unread:
            text = f"! {each.name}: {unread.count} cubins for {unread.arch}: {unread.reason}"
            yield Text(printable(text), style="yellow")


def _decision(decision: Decision, readable: Mapping[str, str]) -> Iterator[Text | Padding]:
    mark, style = _MARKS[decision.status]
    head = Text.assemble((f"{mark} {printable(decision.requirement)}", style))
    head.append(f"  {printable(decision.reason)}")
    yield head
    if decision.kernel:
        name = printable(readable.get(decision.kernel, decision.kernel))
        shown = name if len(name) <= _NAME_SHOWN else f"{name[:_NAME_SHOWN]}…"
        yield Padding(Text(shown, style="dim"), (0, 0, 0, 4))
