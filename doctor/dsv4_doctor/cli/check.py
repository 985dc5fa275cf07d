"""``dsv4-doctor check``: facts of this machine, or of a stored snapshot, to a report."""

from __future__ import annotations

import sys
from enum import Enum
from typing import Annotated

import typer

from dsv4_doctor import __version__
from dsv4_doctor.checks.registry import Context, run_checks
from dsv4_doctor.cli import options
from dsv4_doctor.cli.target import Resolved, resolve
from dsv4_doctor.report import Report
from dsv4_doctor.snapshot import Snapshot


class Purpose(str, Enum):
    """What the machine is for."""

    BUILD = "build"
    SERVE = "serve"
    ALL = "all"


class Format(str, Enum):
    """Output formats of a report."""

    TEXT = "text"
    JSON = "json"


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
        typer.Option("--from", metavar="FILE", help="A stored snapshot; - for standard input."),
    ] = None,
    output: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.TEXT,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 for a warning, too.")
    ] = False,
) -> None:
    """Say what is wrong with this machine, and what to do.

    Exit status: 0 nothing failed, 1 something failed, 2 wrong command line, 3 something that
    the target needs could not be told, 4 the doctor itself broke.
    """
    resolved = resolve(
        purpose=purpose.value,
        vllm=vllm,
        archs=arch or (),
        features=feature or (),
        profile=profile,
    )
    report = evaluate(read_snapshot(source, python), resolved)
    _print(report, output)
    raise typer.Exit(report.exit_code(strict=strict))


def read_snapshot(source: str | None, python: str | None) -> Snapshot:
    """Return a stored snapshot, or one of this machine."""
    if source is not None:
        from dsv4_doctor.codec import load_snapshot  # noqa: PLC0415 - a live check needs no codec

        return load_snapshot(source)
    from dsv4_doctor.probes.registry import Request, take_snapshot  # noqa: PLC0415

    return take_snapshot(Request(python=python))


def evaluate(snapshot: Snapshot, resolved: Resolved) -> Report:
    """Run the checks over a snapshot."""
    context = Context(snapshot, resolved.target, resolved.release)
    return Report(
        tool_version=__version__,
        hostname=snapshot.host.hostname if snapshot.host is not None else "",
        taken_at=snapshot.taken_at,
        target=resolved.target,
        findings=run_checks(context),
        notes=resolved.notes,
    )


def _print(report: Report, output: Format) -> None:
    if output is Format.JSON:
        from dsv4_doctor.formats import json  # noqa: PLC0415 - JSON must not wait for rich

        sys.stdout.write(json.render(report))
        return
    from dsv4_doctor.formats import console, text  # noqa: PLC0415

    text.render(report, console.stdout())
