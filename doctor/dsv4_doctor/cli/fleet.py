"""``dsv4-doctor fleet``: many snapshots or reports to one picture."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import Enum
from functools import partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dsv4_doctor.cli import options
from dsv4_doctor.cli.options import Purpose, PurposeOption
from dsv4_doctor.cli.target import resolve
from dsv4_doctor.codec import load_snapshot
from dsv4_doctor.errors import EXIT_FAILED, EXIT_OK, EXIT_UNKNOWN, UsageError
from dsv4_doctor.files import STDOUT, deliver
from dsv4_doctor.fleet import documents, drift, earlier, judging, lists, survey
from dsv4_doctor.fleet.model import Host
from dsv4_doctor.fleet.picture import Against, compose

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.fleet.model import Fleet

fleet = typer.Typer(help="Many machines to one picture.", no_args_is_help=True)


class Format(str, Enum):
    """Output formats."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    HTML = "html"
    JSONL = "jsonl"


class Naming(str, Enum):
    """What hosts are called by."""

    HOST = "host"
    FILE = "file"


Paths = Annotated[
    list[str],
    typer.Argument(
        metavar="DIR|FILE...",
        help="Snapshots and reports: JSON, JSON lines, directories of them; - for standard input.",
    ),
]
Expect = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Hosts that should be there: names, or `ansible-inventory --list`."
    ),
]
Baseline = Annotated[
    Path | None,
    typer.Option(metavar="SNAPSHOT", help="A good machine to compare with, instead of the most."),
]
Previous = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="An earlier picture (JSON): say what has changed."),
]
NameBy = Annotated[Naming, typer.Option("--name-by", help="What hosts are called by.")]
Lists = Annotated[
    Path | None,
    typer.Option(
        "--lists", metavar="DIR", help="Write lists of healthy and sick hosts for schedulers."
    ),
]
Output = Annotated[Format, typer.Option("--format", help="Output format.")]
Out = Annotated[
    str, typer.Option("--output", metavar="FILE", help="Write here; - for standard output.")
]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 1 for a warning, too.")]


@dataclass(frozen=True)
class Shown:
    """How a picture is given out."""

    output: Format
    out: str
    lists: Path | None
    strict: bool


@fleet.command()
def report(  # noqa: PLR0913 - one parameter an option
    paths: Paths,
    *,
    purpose: PurposeOption = Purpose.ALL,
    arch: options.Archs = None,
    vllm: options.Vllm = None,
    feature: options.Features = None,
    expect: Expect = None,
    baseline: Baseline = None,
    previous: Previous = None,
    name_by: NameBy = Naming.HOST,
    lists_in: Lists = None,
    output: Output = Format.TEXT,
    out: Out = STDOUT,
    strict: Strict = False,
) -> None:
    """Show one picture of many hosts: equal failures together, drift, missing hosts.

    A stored report counts as it is; a snapshot is judged here. Exit status as `check`, over all
    hosts: a missing host and one that gave no facts are failures.
    """
    if output is Format.JSONL:
        msg = "lines hold no picture: `fleet check --format jsonl` writes one for each host"
        raise UsageError(msg)
    against = Against(
        expected=earlier.read_expected(expect) if expect else (),
        baseline=drift.facts(load_snapshot(str(baseline))) if baseline else (),
        earlier=earlier.read_picture(previous) if previous else None,
    )
    target = resolve(purpose=purpose.value, vllm=vllm, archs=arch or (), features=feature or ())
    judge = judging.Judge(target.target, target.release, by_file=name_by is Naming.FILE)
    _give(_picture(paths, judge, against), Shown(output, out, lists_in, strict))


@fleet.command()
def check(  # noqa: PLR0913 - one parameter an option
    paths: Paths,
    *,
    purpose: PurposeOption = Purpose.ALL,
    arch: options.Archs = None,
    vllm: options.Vllm = None,
    feature: options.Features = None,
    name_by: NameBy = Naming.HOST,
    lists_in: Lists = None,
    output: Output = Format.TEXT,
    out: Out = STDOUT,
    strict: Strict = False,
) -> None:
    """Say which hosts could take another release or target, from stored snapshots alone."""
    if not (vllm or arch or feature):
        msg = "nothing to hold the hosts against: give --vllm, --arch or --feature"
        raise UsageError(msg)
    target = resolve(purpose=purpose.value, vllm=vllm, archs=arch or (), features=feature or ())
    judge = judging.Judge(target.target, target.release, by_file=name_by is Naming.FILE, anew=True)
    if output is Format.JSONL:
        if out != STDOUT or lists_in is not None:
            msg = "--format jsonl is written as it comes, to standard output and without lists"
            raise UsageError(msg)
        raise typer.Exit(_lines(paths, judge, strict=strict))
    _give(_picture(paths, judge, Against()), Shown(output, out, lists_in, strict))


def _lines(paths: list[str], judge: judging.Judge, *, strict: bool) -> int:
    """Write a line for each host as it is judged, and return the exit status."""
    from dsv4_doctor.formats import fleet_lines  # noqa: PLC0415

    verdicts: set[str] = set()
    for found in survey.survey(_places(paths), judge):
        sys.stdout.write(fleet_lines.render(found))
        verdicts.add(found.verdict if isinstance(found, Host) else "unknown")
        if strict and isinstance(found, Host) and found.count("warn"):
            verdicts.add("fail")
    if "fail" in verdicts:
        return EXIT_FAILED
    return EXIT_UNKNOWN if "unknown" in verdicts or not verdicts else EXIT_OK


def _places(paths: list[str]) -> Iterator[documents.Place]:
    found = documents.places(paths)
    first = next(found, None)
    if first is None:
        msg = f"no {' or '.join(documents.SUFFIXES)} file in {', '.join(paths)}"
        raise UsageError(msg)
    return chain((first,), found)


def _picture(paths: list[str], judge: judging.Judge, against: Against) -> Fleet:
    hosts, refused = judging.split(survey.survey(_places(paths), judge))
    return compose(hosts, refused, _words(judge), against)


def _words(judge: judging.Judge) -> str:
    target = judge.target
    archs = ", ".join(target.archs) or "the GPUs found"
    return f"vLLM {target.release}, {archs}, for {target.purpose}"


def _give(made: Fleet, shown: Shown) -> None:
    if shown.lists is not None:
        for path in lists.write_lists(made, shown.lists):
            sys.stderr.write(f"{path}\n")
        for name in lists.unsafe(made):
            sys.stderr.write(f"in no list, because no host can be called so: {name!r}\n")
    _write(made, shown)
    raise typer.Exit(made.exit_code(strict=shown.strict))


def _write(made: Fleet, shown: Shown) -> None:
    if shown.output is not Format.TEXT:
        module = import_module(f"dsv4_doctor.formats.fleet_{shown.output.value}")
        deliver(module.render(made), shown.out)
        return
    from dsv4_doctor.formats import console, fleet_text  # noqa: PLC0415 - only text needs rich

    if shown.out == STDOUT:
        fleet_text.render(made, console.stdout())
    else:
        deliver(console.captured(partial(fleet_text.render, made)), shown.out)
