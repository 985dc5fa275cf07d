"""Processes of their own that take the facts, begun before the command line is read.

Reading a command line, finding the requirements and loading the checks takes as long as loading
the probes and running them, and Python runs one thread at a time. So they are done side by side,
in several processes: in two where there are few processors, and one for each group of probes where
there are enough. It also keeps the doctor alive when a driver's library, which the probes load,
crashes: the probes of that process then say so.

Imports next to nothing, so that the processes begin at once and other commands pay nothing.
"""

from __future__ import annotations

# The public module takes longer to import than all else here.
import _signal  # type: ignore[import-not-found]
import atexit
import os

TYPE_CHECKING = False  # Importing typing takes longer than all else here.
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsv4_doctor.prober.asking import Prober
    from dsv4_doctor.probes.registry import Group

# Commands that take the facts of this machine; where one turns out not to, the processes end.
COMMANDS = frozenset(("check", "snapshot"))

# Processors from which on every group has a process of its own.
MANY = 4

_TERMINATE = 15


class Begun:
    """A process that waits for a request.

    Attributes:
        process: Its number.
        requests: Where the request goes.
        answers: Where the answer comes from.
        groups: Of the probes that it runs.
    """

    def __init__(self, process: int, requests: int, answers: int, groups: Sequence[Group]) -> None:
        self.process = process
        self.requests = requests
        self.answers = answers
        self.groups = groups


_begun: list[Begun] = []


def begin(arguments: Sequence[str]) -> None:
    """Begin the processes when these arguments will need them; this one has only one thread yet.

    Args:
        arguments: Of the command line, unread.
    """
    if not arguments or arguments[0] not in COMMANDS:
        return
    if any(argument.startswith(("--from", "--help")) or argument == "-h" for argument in arguments):
        return
    for groups in divided(_processors()):
        _begin(arguments, groups)


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # Linux alone has it.
        return os.cpu_count() or 1


def divided(processors: int) -> Sequence[Sequence[Group]]:
    """Return the groups of each process; what is missing is for the process that asks."""
    if processors < MANY:
        return (("driver", "installed"),)
    # CUDA takes longest to start.
    return (("driver",), ("installed",), ("host",))


def _begin(arguments: Sequence[str], groups: Sequence[Group]) -> None:
    requests, write_requests = os.pipe()
    answers, write_answers = os.pipe()
    caller = os.getpid()
    try:
        process = os.fork()
        if process == 0:
            # Ctrl-C goes to the whole group; the one that was begun first decides.
            _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
            # What the other process has to do at its end is not done here.
            atexit._clear()
            os.close(write_requests)
            os.close(answers)
            _serve(requests, write_answers, arguments, groups)
    finally:
        # Nothing of the caller is done twice, even if Ctrl-C is the first that the new one meets.
        if os.getpid() != caller:
            os._exit(1)
    os.close(requests)
    os.close(write_answers)
    atexit.register(stop, process)
    _begun.append(Begun(process, write_requests, answers, groups))


def _serve(requests: int, answers: int, arguments: Sequence[str], groups: Sequence[Group]) -> None:
    # A request ends when nobody holds its pipe any more.
    for other in _begun:
        os.close(other.requests)
        os.close(other.answers)
    _begun.clear()
    try:
        if "driver" in groups:
            from dsv4_doctor.probes import cuda_early  # noqa: PLC0415 - in this process only

            cuda_early.begin()
        from dsv4_doctor.prober.serving import serve  # noqa: PLC0415 - CUDA comes first

        serve(requests, answers, arguments, groups)
    finally:
        atexit._run_exitfuncs()


def begun() -> Prober | None:
    """Return the processes that wait for a request, ``None`` without any; only once."""
    if not _begun:
        return None
    from dsv4_doctor.prober.asking import Prober  # noqa: PLC0415 - after they have begun

    prober = Prober(tuple(_begun))
    _begun.clear()
    return prober


def stop(process: int) -> None:
    """End the process and what it started; nothing is done to one that has ended."""
    try:
        # The number of a child that was waited for may be somebody else's process by now.
        if os.waitpid(process, os.WNOHANG) == (0, 0):
            os.kill(process, _TERMINATE)
    except ChildProcessError:
        pass
