"""Entry point of the ``dsv4-doctor`` command."""

from __future__ import annotations

import gc

# A command ends in a moment and makes no cycles worth collecting: a twelfth of a check's time.
gc.disable()

import atexit  # noqa: E402 - what is imported is what it is about
import os  # noqa: E402
import sys  # noqa: E402

from dsv4_doctor import prober  # noqa: E402
from dsv4_doctor.errors import EXIT_INTERRUPTED  # noqa: E402

TYPE_CHECKING = False  # What is imported here delays the process that takes the facts.
if TYPE_CHECKING:
    from sys import UnraisableHookArgs
    from typing import NoReturn


def main() -> NoReturn:
    """Run the command line; the facts are taken beside it, in a process of its own."""
    try:
        if sys.argv[1:2] and sys.argv[1] in prober.COMMANDS:
            sys.unraisablehook = _unraisable
        prober.begin(sys.argv[1:])
        if sys.argv[1:2] == ["check"]:
            from dsv4_doctor.cli import plain  # noqa: PLC0415

            plain.run(sys.argv[1:])
        from dsv4_doctor.cli.main import main as run  # noqa: PLC0415

        run()
    except KeyboardInterrupt:
        _interrupted()


def _interrupted() -> NoReturn:
    """End like `ending.leave`, importing nothing: what an interrupted import leaves is in parts."""
    try:
        if sys.stderr is not None:
            sys.stderr.write("interrupted\n")
        atexit._run_exitfuncs()
    finally:
        # Python would end itself with the signal where it interrupted an `exec` of source text.
        os._exit(EXIT_INTERRUPTED)


def _unraisable(what: UnraisableHookArgs) -> None:
    # Python forgets Ctrl-C that comes while it cleans up, as it does after every import.
    if what.exc_type is KeyboardInterrupt:
        _interrupted()
    sys.__unraisablehook__(what)


if __name__ == "__main__":
    main()
