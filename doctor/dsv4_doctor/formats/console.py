"""Consoles for people: standard output for results, standard error for everything else."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, TextIO

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable

# Columns where the output is no terminal and nobody said how wide it is.
_WIDTH = 120


def stdout() -> Console:
    """Return a console on standard output."""
    return _console(sys.stdout)


def stderr() -> Console:
    """Return a console on standard error."""
    return _console(sys.stderr)


def captured(render: Callable[[Console], object]) -> str:
    """Return what is rendered on a console that is no terminal."""
    stream = io.StringIO()
    render(_console(stream))
    return stream.getvalue()


def _console(stream: TextIO) -> Console:
    width = None if stream.isatty() else _WIDTH
    return Console(file=stream, width=width, highlight=False, markup=False, emoji=False)


def bare_table() -> Table:
    """Return a table without lines, columns two blanks apart."""
    return Table(box=None, header_style="dim", padding=(0, 2, 0, 0), pad_edge=False)
