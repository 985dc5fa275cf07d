"""How a command ends: every error becomes a message and an exit status."""

from __future__ import annotations

import atexit
import io
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from dsv4_doctor.errors import EXIT_BROKEN, EXIT_INTERRUPTED, DoctorError

if TYPE_CHECKING:
    from collections.abc import Callable


def open_streams() -> None:
    """Make the output streams such that nothing that is written to them fails by itself."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # It was closed by whoever started this.
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            # Where the locale's encoding lacks a character, an escape is better than no report.
            stream.reconfigure(errors="backslashreplace")


def guarded(command: Callable[[], object], other: Callable[[Exception], int]) -> int:
    """Run a command and return its exit status.

    Args:
        command: Returns its status; whatever is no number is 0.
        other: Returns the status for an error that is none of the doctor's own.
    """
    try:
        status = command()
        sys.stdout.flush()
    except DoctorError as error:
        complain(f"error: {error}")
        if error.hint:
            complain(f"  {error.hint}")
        return error.exit_code
    except KeyboardInterrupt:
        status = EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader has gone, as `| head` does; nothing may be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # noqa: BLE001 - whatever is left is a fault of the tool itself
        return other(error)
    if status == EXIT_INTERRUPTED:  # Newer releases of typer return this themselves.
        complain("interrupted")
    return status if isinstance(status, int) else 0


def broke(error: Exception) -> int:
    """Say that the doctor itself broke."""
    import traceback  # noqa: PLC0415 - with what it imports, 3 ms of every command

    traceback.print_exception(error)
    complain("dsv4-doctor itself broke: please report this with the lines above")
    return EXIT_BROKEN


def complain(message: str) -> None:
    """Write a line to standard error."""
    sys.stderr.write(message + "\n")


def leave(status: int) -> NoReturn:
    """End the process without taking the interpreter apart, which is a tenth of a check's time."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        # Whoever reads may have gone, or a disk may be full.
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)
