"""``dsv4-doctor snapshot``: the facts of this machine as JSON."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from dsv4_doctor.cli import options
from dsv4_doctor.codec import dump_snapshot
from dsv4_doctor.files import write_atomically
from dsv4_doctor.probes.registry import Request, take_snapshot


def snapshot(
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="File to write; default: standard output."
        ),
    ] = None,
    python: options.Python = None,
    deep: options.Deep = False,
) -> None:
    """Write the facts of this machine, for `check --from` here or elsewhere."""
    text = dump_snapshot(take_snapshot(Request(python=python, deep=deep)))
    if out is None:
        sys.stdout.write(text)
    else:
        write_atomically(out, text.encode())
