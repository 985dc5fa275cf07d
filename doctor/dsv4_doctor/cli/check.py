"""``dsv4-doctor check``: facts of this machine, or of a stored snapshot, to a report."""

from __future__ import annotations

import traceback
from contextlib import contextmanager, nullcontext
from enum import Enum
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

from dsv4_doctor.cli import options
from dsv4_doctor.cli.judging import Asked, prepare
from dsv4_doctor.errors import DoctorError, UsageError
from dsv4_doctor.files import STDOUT, deliver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dsv4_doctor.report import Report
    from dsv4_doctor.snapshot import Snapshot


class ReportFormat(str, Enum):
    """How a report is written; each is the module of this name under ``formats/``."""

    TEXT = "text"
    JSON = "json"
    JUNIT = "junit"
    SARIF = "sarif"
    PROMETHEUS = "prometheus"
    MARKDOWN = "markdown"
    NAGIOS = "nagios"


def check(  # noqa: PLR0913 - one parameter an option
    *,
    purpose: options.PurposeOption = options.Purpose.ALL,
    arch: options.Archs = None,
    vllm: options.Vllm = None,
    feature: options.Features = None,
    profile: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Hold the machine against a recommended matrix, too."),
    ] = None,
    python: options.Python = None,
    source: options.Source = None,
    block: options.Block = None,
    redact: options.Redact = False,
    deep: options.Deep = False,
    model: Annotated[
        str | None,
        typer.Option(metavar="PATH|NAME", help="Model to serve: the disk under it is looked at."),
    ] = None,
    select: options.Select = None,
    ignore: options.Ignore = None,
    form: Annotated[
        ReportFormat, typer.Option("--format", help="Output format.")
    ] = ReportFormat.TEXT,
    output: Annotated[
        str, typer.Option("--output", metavar="FILE", help="Write here; - for standard output.")
    ] = STDOUT,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 for a warning, too.")
    ] = False,
    facts: Annotated[
        bool, typer.Option("--facts", help="Put the snapshot into the JSON, too.")
    ] = False,
) -> None:
    """Say what is wrong with this machine, and what to do.

    Exit status: 0 nothing failed, 1 something failed, 2 wrong command line, 3 something that
    the target needs could not be told, 4 the doctor itself broke. With --format nagios those of
    a plugin: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.
    """
    if facts and form is not ReportFormat.JSON:
        msg = "--facts goes with --format json"
        raise UsageError(msg)
    with _answering(output) if form is ReportFormat.NAGIOS else nullcontext():
        choice, left_out = options.choose(select, ignore)
        judge = prepare(
            Asked(
                purpose=purpose.value,
                vllm=vllm,
                archs=tuple(arch or ()),
                features=tuple(feature or ()),
                profile=profile,
                python=python,
                source=source,
                block=block,
                deep=deep,
                model=model,
                redact=redact,
                choice=choice,
            )
        )
        write = writer(form, output, strict=strict)
        report, snapshot = judge(left_out)
        write(report, snapshot if facts else None)
    raise typer.Exit(_status(report, form, strict=strict))


@contextmanager
def _answering(output: str) -> Iterator[None]:
    """Make what ends a check early the answer UNKNOWN: a monitor shows nothing else."""
    try:
        yield
    except Exception as error:
        from dsv4_doctor.formats import nagios  # noqa: PLC0415

        if not isinstance(error, DoctorError):
            traceback.print_exception(error)
        deliver(nagios.unknown(str(error)), output)
        raise typer.Exit(nagios.UNKNOWN) from error


def _status(report: Report, form: ReportFormat, *, strict: bool) -> int:
    if form is ReportFormat.NAGIOS:
        from dsv4_doctor.formats import nagios  # noqa: PLC0415

        return nagios.status(report, strict=strict)
    return report.exit_code(strict=strict)


def writer(
    form: ReportFormat, output: str, *, strict: bool
) -> Callable[[Report, Snapshot | None], None]:
    """Import what an output format needs and return what writes a report in it.

    What it returns takes the facts, too, where they are to be written.
    """
    if form is ReportFormat.TEXT:
        from dsv4_doctor.formats import console, text  # noqa: PLC0415 - only text needs rich

        if output == STDOUT:
            return lambda report, _: text.render(report, console.stdout())
        return lambda report, _: deliver(console.captured(partial(text.render, report)), output)
    # JSON and what other programs read must not wait for rich.
    module = import_module(f"dsv4_doctor.formats.{form.value}")
    if form is ReportFormat.JSON:
        return lambda report, snapshot: deliver(module.render(report, snapshot), output)
    options = {"strict": strict} if form in {ReportFormat.JUNIT, ReportFormat.NAGIOS} else {}
    return lambda report, _: deliver(module.render(report, **options), output)
