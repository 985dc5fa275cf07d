"""``dsv4-doctor sources``: vLLM and what its build would fetch, kept for use without a network."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dsv4_doctor.cli.options import Format
from dsv4_doctor.errors import EXIT_FAILED

if TYPE_CHECKING:
    from collections.abc import Callable

    from dsv4_build.sources.store import Store
    from dsv4_build.sources.verify import Entry

sources = typer.Typer(
    help="Sources of a build: brought once, verified, carried to machines without a network.",
    no_args_is_help=True,
)

Vllm = Annotated[
    str,
    typer.Option("--vllm", metavar="RELEASE|PATH|COMMIT", help="vLLM; default: as of check."),
]
LeaveOut = Annotated[
    list[str] | None,
    typer.Option(
        "--leave-out",
        metavar="OWNER/NAME",
        help="Take no submodule from this repository; repeatable.",
    ),
]
Mirror = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Take git repositories from DIR/OWNER/NAME.git."),
]
Output = Annotated[Format, typer.Option("--format", help="Output format.")]


@sources.command()
def pull(
    *,
    vllm: Vllm = "",
    mirror: Mirror = None,
    leave_out: LeaveOut = None,
    output: Output = Format.TEXT,
) -> None:
    """Bring vLLM and every repository that its CMake would fetch, submodules included.

    Exit status: 0 all is there, 1 something is missing, 2 wrong command line.
    """
    from dsv4_build.sources import pull as pulling  # noqa: PLC0415 - not needed for --help
    from dsv4_build.sources import text  # noqa: PLC0415

    options = pulling.Options(_say(), mirror, tuple(leave_out or ()))
    result = pulling.pull(_store(), vllm or _default(), options)
    if output is Format.JSON:
        _json(result.to_json())
    else:
        sys.stdout.write(text.pulled(result))
    if not result.complete:
        raise typer.Exit(EXIT_FAILED)


@sources.command("list")
def list_(*, output: Output = Format.TEXT) -> None:
    """List what the cache has."""
    from dsv4_build.sources import verify as verifying  # noqa: PLC0415

    _show(tuple(verifying.entries(_store())), output)


@sources.command()
def verify(*, output: Output = Format.TEXT) -> None:
    """Compute every digest of the cache anew.

    Exit status: 0 all is as it was brought, 1 something is not.
    """
    from dsv4_build.sources import verify as verifying  # noqa: PLC0415

    found = tuple(verifying.verify(_store(), os.environ))
    _show(found, output)
    if any(each.error for each in found):
        raise typer.Exit(EXIT_FAILED)


def _show(found: tuple[Entry, ...], output: Format) -> None:
    from dsv4_build.sources import text  # noqa: PLC0415
    from dsv4_build.sources.verify import to_json  # noqa: PLC0415

    if output is Format.JSON:
        _json(to_json(found))
    else:
        sys.stdout.write("".join(f"{line}\n" for line in text.entries(found)))


def _store() -> Store:
    from dsv4_build.cache import cache_root  # noqa: PLC0415
    from dsv4_build.sources.store import Store  # noqa: PLC0415

    return Store(cache_root() / "sources")


def _say() -> Callable[[str], None]:
    from dsv4_build.progress import Progress  # noqa: PLC0415

    return Progress().say


def _default() -> str:
    from dsv4_doctor.knowledge import load  # noqa: PLC0415

    return load.default_release().name


def _json(data: object) -> None:
    sys.stdout.write(json.dumps(data, indent=2) + "\n")
