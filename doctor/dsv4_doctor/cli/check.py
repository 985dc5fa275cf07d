"""``dsv4-doctor check``: facts of this machine, or of a stored snapshot, to a report."""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from dsv4_doctor.cli import options
from dsv4_doctor.cli.options import Format

if TYPE_CHECKING:
    from collections.abc import Callable

    from dsv4_doctor.ingest.release import ToldRelease
    from dsv4_doctor.report import Report
    from dsv4_doctor.snapshot import Snapshot

T = TypeVar("T")


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
    hide = redactor() if redact else _as_it_is
    report = hide(evaluate(hide(facts()), resolved.target, resolved.release, notes))
    write(report)
    raise typer.Exit(report.exit_code(strict=strict))


def start_facts(  # noqa: PLR0913 - one parameter an option
    source: str | None,
    python: str | None,
    block: int | None = None,
    *,
    tree: str | None = None,
    deep: bool = False,
    archs: tuple[str, ...] = (),
) -> Callable[[], Snapshot]:
    """Read a stored snapshot, or start to take one; the result returns it when it is there.

    Args:
        source: The stored one, ``None`` for this machine.
        python: Interpreter of the environment to look at.
        block: Which machine of a pasted text.
        tree: What was given as vLLM; a directory is where a build would run.
        deep: Whether to look at what takes longer, too.
        archs: Architectures that were asked for.
    """
    if source is not None:
        from dsv4_doctor.ingest.load import load  # noqa: PLC0415 - a live check reads no text

        stored = load(source, block)
        return lambda: stored
    from dsv4_doctor.probes.registry import Request, start  # noqa: PLC0415

    tree = tree if tree is not None and Path(tree).is_dir() else None
    return start(Request(python=python, tree=tree, deep=deep, archs=archs)).finish


def redactor() -> Callable[[T], T]:
    """Return what takes out of several documents whatever identifies, the same in all of them."""
    from dsv4_doctor.redact import Redactor  # noqa: PLC0415 - only who asks for it waits for it

    return Redactor().redact


def _as_it_is(document: T) -> T:
    return document


def release_told(snapshot: Snapshot) -> ToldRelease | None:
    """Return the release that a pasted text is about, ``None`` for a snapshot of a machine."""
    from dsv4_doctor.ingest.release import told_release  # noqa: PLC0415

    return told_release(snapshot)


def writer(output: Format) -> Callable[[Report], object]:
    """Import what an output format needs and return what writes a report in it."""
    if output is Format.JSON:
        from dsv4_doctor.formats import json  # noqa: PLC0415 - JSON must not wait for rich

        return lambda report: sys.stdout.write(json.render(report))
    from dsv4_doctor.formats import console, text  # noqa: PLC0415

    return lambda report: text.render(report, console.stdout())
