"""``dsv4-doctor snapshot``: the facts of this machine as JSON."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from dsv4_doctor.cli import options
from dsv4_doctor.cli.judging import Asked, redactor, start_facts
from dsv4_doctor.codec import dump_snapshot
from dsv4_doctor.files import write_atomically


def snapshot(  # noqa: PLR0913 - one parameter an option
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="File to write; default: standard output."
        ),
    ] = None,
    python: options.Python = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Take the facts from a pasted collect_env or nvidia-smi text; - for stdin.",
        ),
    ] = None,
    block: options.Block = None,
    redact: options.Redact = False,
    deep: options.Deep = False,
) -> None:
    """Write the facts of this machine, for `check --from` here or elsewhere."""
    facts = start_facts(Asked(python=python, source=source, block=block, deep=deep))()
    text = dump_snapshot(redactor()(facts) if redact else facts)
    if out is None:
        sys.stdout.write(text)
    else:
        write_atomically(out, text.encode())
