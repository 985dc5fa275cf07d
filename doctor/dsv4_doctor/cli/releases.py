"""``dsv4-doctor releases``: what is known of vLLM's releases."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from dsv4_doctor.cli import options
from dsv4_doctor.cli.options import Format
from dsv4_doctor.errors import EXIT_FAILED, InputError, UsageError
from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.named import named
from dsv4_doctor.target import parse_archs, parse_features

if TYPE_CHECKING:
    from dsv4_doctor.knowledge.model import Release
    from dsv4_doctor.releases.compare import Side

RELEASE = typer.Argument(metavar="RELEASE|PATH", help="A known release, an sdist or a checkout.")
TOPIC = typer.Option(
    "--topic", metavar="NAME", help="Only topics that begin so, such as flag; repeatable; text."
)

releases = typer.Typer(help="What vLLM's releases need and have, from their own source.")


@releases.callback(invoke_without_command=True)
def table(context: typer.Context, *, output: options.Output = Format.TEXT) -> None:
    """List the known releases, newest first."""
    if context.invoked_subcommand is not None:
        return
    if output is Format.JSON:
        from dsv4_doctor.formats import releases_json  # noqa: PLC0415 - JSON waits for no rich

        sys.stdout.write(releases_json.table(_all()))
        return
    from dsv4_doctor.formats import console, releases_text  # noqa: PLC0415

    releases_text.table(_all(), tuple(load.project().feature_titles), console.stdout())


@releases.command()
def show(
    *,
    release: Annotated[str, RELEASE],
    topics: Annotated[list[str] | None, TOPIC] = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Show everything that is known of one release, with file and line."""
    shown, notes = _side(release)
    if output is Format.JSON:
        from dsv4_doctor.formats import releases_json  # noqa: PLC0415

        sys.stdout.write(releases_json.show(shown))
        return
    from dsv4_doctor.formats import console, releases_text  # noqa: PLC0415

    releases_text.show(shown, notes, topics or (), console.stdout())


@releases.command()
def diff(
    *,
    old: Annotated[str, RELEASE],
    new: Annotated[str, RELEASE],
    topics: Annotated[list[str] | None, TOPIC] = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Say what changed between two releases for someone who builds."""
    before, after = _side(old)[0], _side(new)[0]
    if output is Format.JSON:
        from dsv4_doctor.formats import releases_json  # noqa: PLC0415

        sys.stdout.write(releases_json.difference(before, after))
        return
    from dsv4_doctor.formats import console, releases_text  # noqa: PLC0415

    releases_text.difference(before, after, topics or (), console.stdout())


def _side(text: str) -> tuple[Side, tuple[str, ...]]:
    """A release with its flags and variables, and notes for a reader."""
    from dsv4_doctor.releases.compare import Side, side  # noqa: PLC0415

    release, notes = named(text)
    try:
        return side(release, text if notes else ""), notes
    except InputError as error:
        return Side(release, None), (*notes, f"not established in this tree: {error}")


@releases.command()
def find(  # noqa: PLR0913 - one parameter an option
    *,
    has: Annotated[
        list[str] | None,
        typer.Option("--has", metavar="NAME", help="Feature; commas, or repeated."),
    ] = None,
    arch: options.Archs = None,
    cuda: Annotated[
        str, typer.Option(metavar="VERSION", help="CUDA toolkit to build with, such as 13.0.")
    ] = "",
    torch: Annotated[
        str, typer.Option(metavar="VERSION", help="torch, such as 2.11 or 2.11.0.")
    ] = "",
    flag: Annotated[
        list[str] | None,
        typer.Option("--flag", metavar="FLAG", help="Flag of vllm serve; repeatable."),
    ] = None,
    kernels: Annotated[
        list[str] | None,
        typer.Option("--kernels", metavar="NAME", help="Compiled kernels; commas, or repeated."),
    ] = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Say which releases fit what you have, and what is in the way of the others.

    Exit status: 0 at least one fits, 1 none does, 2 wrong command line.
    """
    from dsv4_doctor.releases.find import Wanted, fit, version  # noqa: PLC0415
    from dsv4_doctor.releases.find_more import parse_flags, parse_kernels  # noqa: PLC0415

    wanted = Wanted(
        features=parse_features(has or (), load.project().feature_titles),
        archs=parse_archs(arch or (), load.known_archs()),
        cuda=version(cuda, "--cuda") if cuda else "",
        torch=version(torch, "--torch") if torch else "",
        flags=parse_flags(flag or ()),
        kernels=parse_kernels(kernels or ()),
    )
    if wanted == Wanted():
        msg = "nothing to look for: give --has, --arch, --cuda, --torch, --flag or --kernels"
        raise UsageError(msg)
    fits = tuple(fit(each, wanted) for each in _all())
    if output is Format.JSON:
        from dsv4_doctor.formats import releases_json  # noqa: PLC0415

        sys.stdout.write(releases_json.found(fits))
    else:
        from dsv4_doctor.formats import console, releases_text  # noqa: PLC0415

        releases_text.found(fits, console.stdout())
    if not any(each.good for each in fits):
        raise typer.Exit(EXIT_FAILED)


def _all() -> tuple[Release, ...]:
    return tuple(load.release(name) for name in load.release_names())
