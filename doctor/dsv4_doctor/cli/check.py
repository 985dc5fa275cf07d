"""``dsv4-doctor check``: facts of this machine, or of a stored snapshot, to a report."""

from __future__ import annotations

import sys
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from dsv4_doctor.cli import options
from dsv4_doctor.cli.facts import as_it_is, redactor, release_told, start_facts
from dsv4_doctor.cli.options import Format

if TYPE_CHECKING:
    from collections.abc import Callable

    from dsv4_doctor.report import Report


class Purpose(str, Enum):
    """What the machine is for."""

    BUILD = "build"
    SERVE = "serve"
    ALL = "all"


def check(  # noqa: PLR0913 - one parameter an option
    *,
    purpose: Annotated[
        Purpose, typer.Option("--for", help="What the machine is for.")
    ] = Purpose.ALL,
    arch: options.Archs = None,
    vllm: options.Vllm = None,
    feature: options.Features = None,
    profile: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Hold the machine against a recommended matrix, too."),
    ] = None,
    python: options.Python = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="A stored snapshot, or a pasted collect_env or nvidia-smi text; - for stdin.",
        ),
    ] = None,
    block: options.Block = None,
    redact: options.Redact = False,
    deep: options.Deep = False,
    output: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.TEXT,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 for a warning, too.")
    ] = False,
) -> None:
    """Say what is wrong with this machine, and what to do.

    Exit status: 0 nothing failed, 1 something failed, 2 wrong command line, 3 something that
    the target needs could not be told, 4 the doctor itself broke.
    """
    facts = start_facts(source, python, block, tree=vllm, deep=deep, archs=tuple(arch or ()))
    # Imported while the probes wait for other programs: a quarter of the whole run.
    from dsv4_doctor.cli.target import resolve  # noqa: PLC0415
    from dsv4_doctor.evaluation import evaluate  # noqa: PLC0415

    named = release_told(facts()) if source is not None and not (vllm or profile) else None
    resolved = resolve(
        purpose=purpose.value,
        vllm=named.release if named is not None else vllm,
        archs=arch or (),
        features=feature or (),
        profile=profile,
    )
    write = writer(output)
    notes = (*((named.note,) if named is not None else ()), *resolved.notes)
    hide = redactor() if redact else as_it_is
    report = hide(evaluate(hide(facts()), resolved.target, resolved.release, notes))
    write(report)
    raise typer.Exit(report.exit_code(strict=strict))


def writer(output: Format) -> Callable[[Report], object]:
    """Import what an output format needs and return what writes a report in it."""
    if output is Format.JSON:
        from dsv4_doctor.formats import json  # noqa: PLC0415 - JSON must not wait for rich

        return lambda report: sys.stdout.write(json.render(report))
    from dsv4_doctor.formats import console, text  # noqa: PLC0415

    return lambda report: text.render(report, console.stdout())
