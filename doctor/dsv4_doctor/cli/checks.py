"""``dsv4-doctor checks``: what the doctor looks at, why, and how to switch it off."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from dsv4_doctor.checks.catalogue import entry
from dsv4_doctor.checks.choice import find
from dsv4_doctor.checks.registry import all_checks
from dsv4_doctor.cli import options
from dsv4_doctor.cli.options import Format

checks = typer.Typer(help="Every check: what it reads, why it matters, how to switch it off.")


@checks.callback(invoke_without_command=True)
def table(context: typer.Context, *, output: options.Output = Format.TEXT) -> None:
    """List every check with its id, its title and the sections of the snapshot that it reads."""
    if context.invoked_subcommand is not None:
        return
    if output is Format.JSON:
        from dsv4_doctor.formats import checks_json  # noqa: PLC0415 - JSON waits for no rich

        sys.stdout.write(checks_json.table(map(entry, all_checks())))
        return
    from dsv4_doctor.formats import checks_text, console  # noqa: PLC0415

    checks_text.table(all_checks(), console.stdout())


@checks.command()
def show(
    *,
    identifier: Annotated[
        str, typer.Argument(metavar="ID", help="Id of a check, or of a finding in a report.")
    ],
    output: options.Output = Format.TEXT,
) -> None:
    """Say what a check reads and decides, why, what it would have prevented, and how to fix it."""
    told = entry(find(identifier, all_checks()))
    if output is Format.JSON:
        from dsv4_doctor.formats import checks_json  # noqa: PLC0415

        sys.stdout.write(checks_json.show(told))
        return
    from dsv4_doctor.formats import checks_text, console  # noqa: PLC0415

    checks_text.show(told, console.stdout())
