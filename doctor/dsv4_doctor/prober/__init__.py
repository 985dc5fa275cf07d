"""A process of its own that takes the facts, begun before the command line is read.

Reading a command line, finding the requirements and loading the checks takes as long as loading
the probes and running them, and Python runs one thread at a time. So both are done side by side,
in two processes. It also keeps the doctor alive when a driver's library, which the probes load,
crashes: every probe then says so.

Imports next to nothing, so that the process begins at once and other commands pay nothing.
"""

from __future__ import annotations

import atexit
import os

TYPE_CHECKING = False  # Importing typing takes longer than all else here.
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsv4_doctor.prober.asking import Prober

# Commands that take the facts of this machine; where one turns out not to, the process ends.
COMMANDS = frozenset(("check", "snapshot"))

_TERMINATE = 15

_begun: list[tuple[int, int, int]] = []


def begin(arguments: Sequence[str]) -> None:
    """Begin the process when these arguments will need it; one process has only one thread yet.

    Args:
        arguments: Of the command line, unread.
    """
    if not arguments or arguments[0] not in COMMANDS:
        return
    if any(argument.startswith(("--from", "--help")) or argument == "-h" for argument in arguments):
        return
    requests, write_requests = os.pipe()
    answers, write_answers = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            # What the other process has to do at its end is not done here.
            atexit._clear()
            os.close(write_requests)
            os.close(answers)
            from dsv4_doctor.probes import cuda_early  # noqa: PLC0415 - in the child only

            cuda_early.begin()
            from dsv4_doctor.prober.serving import serve  # noqa: PLC0415 - CUDA comes first

            serve(requests, write_answers, arguments)
        finally:  # Nothing of the caller is done twice, whatever comes: Ctrl-C, too.
            atexit._run_exitfuncs()
            os._exit(1)
    os.close(requests)
    os.close(write_answers)
    atexit.register(stop, process)
    _begun.append((process, write_requests, answers))


def begun() -> Prober | None:
    """Return the process that waits for a request, ``None`` where none was begun; only once."""
    if not _begun:
        return None
    from dsv4_doctor.prober.asking import Prober  # noqa: PLC0415 - after the process has begun

    return Prober(*_begun.pop())


def stop(process: int) -> None:
    """End the process and what it started; nothing is done to one that has ended."""
    try:
        # The number of a child that was waited for may be somebody else's process by now.
        if os.waitpid(process, os.WNOHANG) == (0, 0):
            os.kill(process, _TERMINATE)
    except ChildProcessError:
        pass
