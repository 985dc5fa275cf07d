"""``dsv4-doctor diagnose``: from a log to the cause and the fix."""

from __future__ import annotations

import difflib
import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dsv4_doctor.binary.zstd import NoZstdError
from dsv4_doctor.cli import options
from dsv4_doctor.errors import EXIT_FAILED, EXIT_OK, InputError, UsageError

if TYPE_CHECKING:
    from dsv4_doctor.logs.conclusion import Machine
    from dsv4_doctor.logs.diagnosis import Cause, Diagnosis

STDIN = "-"


class Format(str, Enum):
    """Output formats of a diagnosis."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


def diagnose(  # noqa: PLR0913 - one parameter an option
    *,
    log: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            help="The log; - for standard input. gz, zst, xz and bz2 are decompressed.",
        ),
    ] = None,
    snapshot: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Facts of the machine that wrote it, from `dsv4-doctor snapshot`."
        ),
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="This machine wrote it: look at it, too.")
    ] = False,
    vllm: options.Vllm = None,
    python: options.Python = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Read on as it grows; tell a cause when it appears.")
    ] = False,
    listing: Annotated[
        bool, typer.Option("--list", help="List every failure that is known.")
    ] = False,
    show: Annotated[
        str | None, typer.Option("--show", metavar="ID", help="Tell all about one of them.")
    ] = None,
    output: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.TEXT,
) -> None:
    """Say what in a log of a build or a server happened first, why, and what to do.

    With --snapshot or --live what to do is said in terms of that machine, and what `check` finds
    there is shown with it. Markdown is for a public issue: names, addresses and tokens are taken
    out.

    Exit status: 0 a cause was named, 1 none was found, 2 wrong command line or unreadable file.
    """
    if listing or show is not None:
        _handbook(show, output)
        return
    if log is None:
        msg = "no log: give a FILE, or - for standard input"
        raise UsageError(msg, hint="--list shows what can be recognised")
    machine = _machine(snapshot, live, vllm, python)
    diagnosis = _followed(log, machine, output) if follow else _read(log, machine)
    _print(diagnosis, output)
    raise typer.Exit(EXIT_OK if diagnosis.named else EXIT_FAILED)


def _read(log: str, machine: Machine | None) -> Diagnosis:
    from dsv4_doctor.logs import session  # noqa: PLC0415 - not needed for --list

    try:
        if log == STDIN:
            return session.diagnose(sys.stdin.buffer, "<stdin>", machine)
        with Path(log).open("rb") as file:
            return session.diagnose(file, log, machine)
    except OSError as error:
        msg = f"{log}: {error.strerror or error}"
        raise InputError(msg) from error
    except NoZstdError as error:
        msg = f"{log}: {error}"
        raise InputError(msg, hint=f"zstd -dc {log} | dsv4-doctor diagnose -") from error


def _followed(log: str, machine: Machine | None, output: Format) -> Diagnosis:
    from dsv4_doctor.formats.plain import printable  # noqa: PLC0415
    from dsv4_doctor.logs import follow  # noqa: PLC0415 - what is rarely asked for

    # What a program reads from standard output is one document, at the end.
    stream = sys.stdout if output is Format.TEXT else sys.stderr

    def tell(cause: Cause) -> None:
        line = cause.lines[0]
        stream.write(f"line {line.number}: {cause.title} ({cause.id}): {printable(line.text)}\n")
        stream.flush()

    pieces = follow.piped() if log == STDIN else follow.grown(Path(log))
    return follow.follow(pieces, "<stdin>" if log == STDIN else log, tell, machine)


def _machine(
    snapshot: str | None, live: bool, vllm: str | None, python: str | None
) -> Machine | None:
    if snapshot is not None and live:
        msg = "--snapshot and --live name two machines; give one of them"
        raise UsageError(msg)
    if snapshot is None and not live:
        if vllm is not None or python is not None:
            msg = "--vllm and --python need a machine to look at: --snapshot FILE or --live"
            raise UsageError(msg)
        return None
    from dsv4_doctor.cli.judging import Asked, start_facts  # noqa: PLC0415 - only with a machine
    from dsv4_doctor.knowledge.named import named  # noqa: PLC0415
    from dsv4_doctor.logs.context import machine  # noqa: PLC0415

    release = named(vllm)[0] if vllm is not None else None
    facts = start_facts(Asked(vllm=vllm, python=python, source=snapshot))
    return machine(facts(), release)


def _handbook(show: str | None, output: Format) -> None:
    from dsv4_doctor.formats import handbook  # noqa: PLC0415 - not needed to read a log

    chosen = handbook.judged()
    if show is not None:
        chosen = tuple(each for each in chosen if each.id == show)
        if not chosen:
            ids = [each.id for each in handbook.judged()]
            close = difflib.get_close_matches(show, ids, n=3) or [
                each for each in ids if show in each
            ]
            msg = f"no known failure is called {show!r}"
            hint = f"close: {', '.join(close)}" if close else "--list shows all"
            raise UsageError(msg, hint=hint)
    if output is Format.JSON:
        sys.stdout.write(handbook.listing_json(chosen))
    elif show is not None or output is Format.MARKDOWN:
        sys.stdout.write("\n".join(handbook.entry(each) for each in chosen))
    else:
        sys.stdout.write(handbook.listing(chosen))


def _print(diagnosis: Diagnosis, output: Format) -> None:
    if output is Format.JSON:
        from dsv4_doctor.formats import diagnosis_json  # noqa: PLC0415 - JSON waits for no rich

        sys.stdout.write(diagnosis_json.render(diagnosis))
    elif output is Format.MARKDOWN:
        from dsv4_doctor.formats import diagnosis_markdown  # noqa: PLC0415

        sys.stdout.write(diagnosis_markdown.render(diagnosis))
    else:
        from dsv4_doctor.formats import console, diagnosis_text  # noqa: PLC0415

        diagnosis_text.render(diagnosis, console.stdout())
