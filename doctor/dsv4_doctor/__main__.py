"""Entry point of the ``dsv4-doctor`` command."""

import gc

# A command ends in a moment and makes no cycles worth collecting: a twelfth of a check's time.
gc.disable()

import sys  # noqa: E402 - what is imported is what it is about
from typing import NoReturn  # noqa: E402

from dsv4_doctor import prober  # noqa: E402
from dsv4_doctor.errors import EXIT_INTERRUPTED  # noqa: E402


def main() -> NoReturn:
    """Run the command line; the facts are taken beside it, in a process of its own."""
    try:
        prober.begin(sys.argv[1:])
        from dsv4_doctor.cli.main import main as run  # noqa: PLC0415
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        raise SystemExit(EXIT_INTERRUPTED) from None
    run()


if __name__ == "__main__":
    main()
