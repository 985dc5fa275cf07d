"""The command line: its commands, and how every error becomes a message and an exit status."""

from __future__ import annotations

import atexit
import io
import os
import sys
import traceback
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from dsv4_doctor import __version__
from dsv4_doctor.errors import EXIT_BROKEN, EXIT_INTERRUPTED, DoctorError

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
    _open_streams()
    _leave(run(sys.argv[1:]))


def _open_streams() -> None:
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # It was closed by whoever started this.
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            # Where the locale's encoding lacks a character, an escape is better than no report.
            stream.reconfigure(errors="backslashreplace")


def _leave(status: int) -> NoReturn:
    """End the process without taking the interpreter apart, which is a tenth of a check's time."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        # Whoever reads may have gone, or a disk may be full.
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)


def run(arguments: list[str]) -> int:
    """Run one command and return its exit status."""
    try:
        status = application(arguments)(arguments, standalone_mode=False)
        sys.stdout.flush()
    except DoctorError as error:
        _complain(f"error: {error}")
        if error.hint:
            _complain(f"  {error.hint}")
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        status = EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader has gone, as `| head` does; nothing may be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # noqa: BLE001 - whatever is left is a fault of the tool itself
        return _other(error)
    if status == EXIT_INTERRUPTED:  # Newer releases of typer return this themselves.
        _complain("interrupted")
    return status if isinstance(status, int) else 0


def _other(error: Exception) -> int:
    # Typer's usage errors come from whichever click it brings, so they are known by their shape.
    show, code = getattr(error, "show", None), getattr(error, "exit_code", None)
    if callable(show) and isinstance(code, int):
        show()
        return code
    traceback.print_exception(error)
    _complain("dsv4-doctor itself broke: please report this with the lines above")
    return EXIT_BROKEN


def _complain(message: str) -> None:
    sys.stderr.write(message + "\n")
