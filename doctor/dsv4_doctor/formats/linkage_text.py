"""How the objects of an inspection are linked, for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from dsv4_doctor.binary.linkage import stem_of_library
from dsv4_doctor.formats.console import bare_table
from dsv4_doctor.formats.plain import printable
from dsv4_doctor.knowledge.linkage import interfaces_in_c

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import Console
    from rich.table import Table

    from dsv4_doctor.binary.contents import Inspection
    from dsv4_doctor.binary.link_problems import LinkageSummary
    from dsv4_doctor.binary.linkage import Linkage

# JSON has all of them, and whole.
_SYMBOLS_SHOWN = 3
_SYMBOL_LENGTH = 96


def render(
    inspection: Inspection,
    summary: LinkageSummary,
    console: Console,
    readable: Mapping[str, str],
) -> None:
    """Print how the objects are linked, what is wrong, and what was not established.

    Args:
        inspection: What was found.
        summary: How its objects are linked, together.
        console: Where to print.
        readable: Symbols demangled, as far as that is known.
    """
    console.print(_table(inspection))
    for line in _lines(summary, readable):
        console.print(line)


def names_shown(summary: LinkageSummary) -> Iterator[str]:
    """Yield the symbols that are shown."""
    for problem in summary.problems:
        yield from problem.symbols[:_SYMBOLS_SHOWN]


def _table(inspection: Inspection) -> Table:
    table = bare_table()
    table.add_column("linked", overflow="fold")
    for name in ("glibc", "GLIBCXX", "CUDA", "stable ABI"):
        table.add_column(name, no_wrap=True)
    table.add_column("needs besides the system's and CUDA's", overflow="fold")
    table.add_column("rpath, runpath", overflow="fold")
    for each in inspection.objects:
        if each.linkage is not None:
            table.add_row(printable(each.name), *_cells(each.linkage))
    return table


def _cells(linkage: Linkage) -> Iterator[str]:
    yield linkage.glibc or "-"
    yield linkage.glibcxx or "-"
    yield " ".join(map(str, linkage.cuda)) or "-"
    yield _stable_abi(linkage)
    needs = [each for each in linkage.needed if stem_of_library(each) not in interfaces_in_c()]
    yield printable(" ".join(needs)) or "-"
    yield printable(":".join((*linkage.rpath, *linkage.runpath))) or "-"


def _stable_abi(linkage: Linkage) -> str:
    if not linkage.stable_abi:
        return "-"
    return "no" if linkage.outside else linkage.python or "yes"


def _lines(summary: LinkageSummary, readable: Mapping[str, str]) -> Iterator[Text | Padding]:
    if summary.torch:
        yield Text(f"symbols of torch looked for in {printable(summary.torch)}", style="dim")
    for problem in summary.problems:
        about = f"{problem.object}: " if problem.object else ""
        yield Text(f"✗ {printable(about + problem.reason)}", style="bold red")
        for symbol in problem.symbols[:_SYMBOLS_SHOWN]:
            name = printable(readable.get(symbol, symbol))
            shown = name if len(name) <= _SYMBOL_LENGTH else f"{name[:_SYMBOL_LENGTH]}…"
            yield Padding(Text(shown, style="dim"), (0, 0, 0, 4))
        more = len(problem.symbols) - _SYMBOLS_SHOWN
        if more > 0:
            yield Padding(Text(f"and {more} more", style="dim"), (0, 0, 0, 4))
    if not summary.problems:
        yield Text("nothing wrong found in how it is linked", style="green")
    for each in summary.unknown:
        yield Text(f"? {printable(each)}", style="magenta")
