"""``dsv4-doctor inspect``: what is inside a wheel or shared object, and whether it is enough."""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dsv4_doctor.binary.inspection import inspect_path
from dsv4_doctor.binary.requirements import (
    archs_of_requirements,
    decide,
    families_of,
    parse_requirements,
)
from dsv4_doctor.errors import EXIT_FAILED, EXIT_OK, EXIT_USAGE

if TYPE_CHECKING:
    from dsv4_doctor.binary.inspection import Inspection
    from dsv4_doctor.binary.requirements import Decision


class Format(str, Enum):
    """Output formats of an inspection."""

    TEXT = "text"
    JSON = "json"


def inspect(
    *,
    path: Annotated[
        Path, typer.Argument(help="A wheel, .so, .o, .a, program, or a directory of them.")
    ],
    require: Annotated[
        list[str] | None,
        typer.Option(
            "--require",
            metavar="THING",
            help="What must be inside: fa3, paged-v2, sm_90a, ...; commas, or repeated.",
        ),
    ] = None,
    kernels: Annotated[
        bool, typer.Option("--kernels", help="Read every kernel name, and list all families.")
    ] = False,
    output: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.TEXT,
) -> None:
    """Say for which GPUs a binary has code, and prove which kernels are in it.

    Needs no GPU, no CUDA and no torch. Exit status: 0 everything required is present, 1 something
    is missing or could not be told, 2 wrong command line or unreadable input.
    """
    requirements = parse_requirements(require or ())
    inspection = inspect_path(
        path,
        kernels=kernels,
        prove=families_of(requirements),
        prefer=archs_of_requirements(requirements),
    )
    decisions = decide(inspection, requirements)
    _print(inspection, decisions, output)
    raise typer.Exit(_status(inspection, decisions))


def _status(inspection: Inspection, decisions: tuple[Decision, ...]) -> int:
    if decisions:
        met = all(decision.status == "present" for decision in decisions)
        return EXIT_OK if met else EXIT_FAILED
    return EXIT_USAGE if any(each.error for each in inspection.objects) else EXIT_OK


def _print(inspection: Inspection, decisions: tuple[Decision, ...], output: Format) -> None:
    if output is Format.JSON:
        from dsv4_doctor.formats import inspection_json  # noqa: PLC0415 - no rich for JSON

        sys.stdout.write(inspection_json.render(inspection, decisions))
        return
    from dsv4_doctor.formats import console, inspection_text  # noqa: PLC0415

    inspection_text.render(inspection, decisions, console.stdout())
