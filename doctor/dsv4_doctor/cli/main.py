"""The command line and its commands."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Annotated, NoReturn

import typer

from dsv4_doctor import __version__
from dsv4_doctor.cli import ending
from dsv4_doctor.errors import EXIT_INTERRUPTED

# Command to the module and function that is it. Only the command that runs is imported: a check
# must not wait for what a build needs.
COMMANDS: dict[str, str] = {
    "check": "dsv4_doctor.cli.check:check",
    "snapshot": "dsv4_doctor.cli.snapshot:snapshot",
    "inspect": "dsv4_doctor.cli.inspect:inspect",
    "diagnose": "dsv4_doctor.cli.diagnose:diagnose",
    "fleet": "dsv4_doctor.cli.fleet:fleet",
    "build": "dsv4_doctor.cli.build:build",
    "image": "dsv4_doctor.cli.image:image",
    "toolchain": "dsv4_doctor.cli.toolchain:toolchain",
    "sources": "dsv4_doctor.cli.sources:sources",
    "releases": "dsv4_doctor.cli.releases:releases",
    "checks": "dsv4_doctor.cli.checks:checks",
    "fix": "dsv4_doctor.cli.fix:fix",
    "lint": "dsv4_doctor.cli.lint:lint",
    "watch": "dsv4_doctor.cli.watch:watch",
    "launch": "dsv4_doctor.cli.launch:launch",
}


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"dsv4-doctor {__version__}\n")
        raise typer.Exit


def _root(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Preflight, build and proof for vLLM and DeepSeek-V4."""


def application(arguments: list[str]) -> typer.Typer:
    """Return the application with the commands that these arguments can reach."""
    app = typer.Typer(
        name="dsv4-doctor",
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    named = next((argument for argument in arguments if not argument.startswith("-")), None)
    chosen = {named: COMMANDS[named]} if named in COMMANDS else COMMANDS
    for name, target in chosen.items():
        module, _, function = target.partition(":")
        command = getattr(import_module(module), function)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)
    return app


def main() -> NoReturn:
    """Run the command line and exit with the documented status."""
    ending.open_streams()
    ending.leave(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command and return its exit status."""
    return ending.guarded(lambda: application(arguments)(arguments, standalone_mode=False), _other)


def _other(error: Exception) -> int:
    if isinstance(error, typer.Abort):
        ending.complain("interrupted")
        return EXIT_INTERRUPTED
    # Typer's usage errors come from whichever click it brings, so they are known by their shape.
    show, code = getattr(error, "show", None), getattr(error, "exit_code", None)
    if callable(show) and isinstance(code, int):
        show()
        return code
    return ending.broke(error)
