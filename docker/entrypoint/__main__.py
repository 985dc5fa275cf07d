"""The entry point of the image: looks at the machine, then serves.

Arguments are those of ``vllm serve``. What is done besides is chosen by the environment:

``DSV4_PREFLIGHT``
    ``enforce`` serves only where ``dsv4-doctor check --for serve`` finds nothing failed, ``warn``
    (the default) says what it found and serves, ``off`` does not look.
``DSV4_PREFLIGHT_LIMIT``
    Seconds that the look may take, 60 by default.
``DSV4_CHECK``
    More arguments for the check, as a shell would read them: ``--arch sm_90 --ignore 'pcie.*'``.
``DSV4_DIAGNOSE``
    ``off`` leaves the log of a server that failed alone; otherwise ``dsv4-doctor diagnose`` names
    the cause on standard error.

The server is a child of this process: signals reach it, its orphans are reaped, and its exit
status is this one's, 128 and the signal's number when a signal ended it. With both switched off it
takes this process's place instead.
"""

from __future__ import annotations

import sys


def _main() -> int:
    if sys.argv[1:] == ["--health"]:
        from dsv4_entrypoint import health  # noqa: PLC0415 - a server's start does not need it

        return health.main()
    from dsv4_entrypoint import serving  # noqa: PLC0415

    return serving.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(_main())
