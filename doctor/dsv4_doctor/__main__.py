"""Entry point of the ``dsv4-doctor`` command."""

from __future__ import annotations

import gc

# A command ends in a moment and makes no cycles worth collecting: a twelfth of a check's time.
gc.disable()

import sys  # noqa: E402 - what is imported is what it is about

from dsv4_doctor import prober  # noqa: E402

TYPE_CHECKING = False  # What is imported here delays the process that takes the facts.
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> NoReturn:
    """Run the command line; the facts are taken beside it, in a process of its own."""
    try:
        prober.begin(sys.argv[1:])
        if sys.argv[1:2] == ["check"]:
            from dsv4_doctor.cli import plain  # noqa: PLC0415

            plain.run(sys.argv[1:])
        from dsv4_doctor.cli.main import main as run  # noqa: PLC0415
    except KeyboardInterrupt:
        from dsv4_doctor.errors import EXIT_INTERRUPTED  # noqa: PLC0415

        sys.stderr.write("interrupted\n")
        raise SystemExit(EXIT_INTERRUPTED) from None
    run()


if __name__ == "__main__":
    main()
