"""Consoles for people: standard output for results, standard error for everything else."""

from __future__ import annotations

import sys
from typing import TextIO

from rich.console import Console
from rich.table import Table

# Columns where the output is no terminal and nobody said how wide it is.
_WIDTH = 120


def stdout() -> Console:
    """Return a console on standard output."""
    return on(sys.stdout)


def stderr() -> Console:
    """Return a console on standard error."""
    return on(sys.stderr)


def on(stream: TextIO) -> Console:
    """Return a console on any stream."""
    width = None if stream.isatty() else _WIDTH
    return Console(file=stream, width=width, highlight=False, markup=False, emoji=False)


def printable(text: str) -> str:
    """Return text in which control characters are written out instead of sent to a terminal.

    What a machine or a stored file says of itself is not trusted to drive the reader's terminal.
    """
    return "".join(
        character if character.isprintable() or character == "\n" else _escape(character)
        for character in text
    )


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def bare_table() -> Table:
    """Return a table without lines, columns two blanks apart."""
    return Table(box=None, header_style="dim", padding=(0, 2, 0, 0), pad_edge=False)
