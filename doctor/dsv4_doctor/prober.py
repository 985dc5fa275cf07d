"""A process of its own that takes the facts, begun before the command line is read.

Reading a command line, finding the requirements and loading the checks takes as long as loading
the probes and running them, and Python runs one thread at a time. So both are done side by side,
in two processes. It also keeps the doctor alive when a driver's library, which the probes load,
crashes: every probe then says so.
"""

from __future__ import annotations

import atexit
import os
import pickle
import select
import signal
import struct
import sys
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dsv4_doctor.probes.registry import Probe, Request
    from dsv4_doctor.snapshot import Snapshot

# Commands that take the facts of this machine; where one turns out not to, the process ends.
COMMANDS = frozenset(("check", "snapshot"))

# Seconds beyond the limit of a probe until the process itself is given up.
_GRACE = 3.0
# Seconds between the end of a process's last word and its own.
_REAP = 0.5

_CHUNK = 1 << 16
# Before the answer stands its length: its end would come with that of the process only.
_SIZE = struct.Struct("<Q")


class Prober:
    """The process, seen from the one that began it."""

    def __init__(self, process: int, requests: int, answers: int) -> None:
        self._process = process
        self._requests = requests
        self._answers = answers

    def take(self, request: Request) -> Callable[[], Snapshot]:
        """Let the probes run, here and there; the result waits and returns what they found."""
        from dsv4_doctor.probes import registry  # noqa: PLC0415 - after the process has begun

        with suppress(BrokenPipeError):  # It has died; how is told below.
            _write(self._requests, pickle.dumps(request))
        os.close(self._requests)
        there, here = _groups(request)
        pending = registry.start(request, here)
        deadline = pending.started + pending.limit + _GRACE
        taken: list[Snapshot] = []

        def finish() -> Snapshot:
            if not taken:
                found = self._receive(deadline)
                if found is None:
                    found = registry.nothing(there, self._end())
                taken.append(registry.merged(pending.finish(), found))
            return taken[0]

        return finish

    def stop(self) -> None:
        """End the process and what it started."""
        with suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGTERM)

    def _receive(self, deadline: float) -> Snapshot | None:
        """Return what was found there, ``None`` when the process does not say it."""
        data, size = b"", _SIZE.size
        while len(data) < size:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._answers], [], [], left)[0]:
                return None
            piece = os.read(self._answers, _CHUNK)
            if not piece:
                return None
            data += piece
            if len(data) >= _SIZE.size:
                size = _SIZE.size + _SIZE.unpack_from(data)[0]
        found: Snapshot = pickle.loads(data[_SIZE.size :])  # noqa: S301 - from our own child
        return found

    def _end(self) -> str:
        """Return how the process ended."""
        until = time.monotonic() + _REAP
        ended, status = os.waitpid(self._process, os.WNOHANG)
        while not ended and time.monotonic() < until:
            time.sleep(0.01)
            ended, status = os.waitpid(self._process, os.WNOHANG)
        if not ended:
            return "the process that runs the probes does not answer"
        code = os.waitstatus_to_exitcode(status)
        how = f"signal {-code}" if code < 0 else f"exit status {code}"
        return f"the process that runs the probes ended with {how}"


def _groups(request: Request) -> tuple[tuple[Probe, ...], tuple[Probe, ...]]:
    """Return the probes that run in the process, and the others."""
    from dsv4_doctor.probes import registry  # noqa: PLC0415 - after the process has begun

    wanted = registry.wanted(request)
    there = tuple(probe for probe in wanted if probe.beside)
    return there, tuple(probe for probe in wanted if not probe.beside)


_begun: list[Prober] = []


def begin(arguments: Sequence[str]) -> None:
    """Begin the process when these arguments will need it; one process has only one thread yet.

    Args:
        arguments: Of the command line, unread.
    """
    if not arguments or arguments[0] not in COMMANDS:
        return
    if any(argument.startswith("--from") for argument in arguments):
        return
    requests, write_requests = os.pipe()
    answers, write_answers = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(write_requests)
        os.close(answers)
        _serve(requests, write_answers, arguments)
    os.close(requests)
    os.close(write_answers)
    prober = Prober(process, write_requests, answers)
    atexit.register(prober.stop)
    _begun.append(prober)


def begun() -> Prober | None:
    """Return the process that waits for a request, ``None`` where none was begun; only once."""
    return _begun.pop() if _begun else None


def _serve(requests: int, answers: int, arguments: Sequence[str]) -> NoReturn:
    """Load the probes, wait for the request, run them, answer and end."""
    status = 1
    try:
        # What the other process has to do at its end is not done here.
        atexit._clear()
        # Ctrl-C goes to the whole group; the one that was begun first decides.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, _terminated)
        _begin_waiting(arguments)
        _load_and_answer(requests, answers)
        status = 0
    except BrokenPipeError:
        pass
    except Exception:  # noqa: BLE001 - it ends here, and the other process says how
        sys.excepthook(*sys.exc_info())
    finally:
        _leave(status)


def _begin_waiting(arguments: Sequence[str]) -> None:
    """Start first what is mostly waited for: CUDA, and the interpreter that seems to be meant."""
    from dsv4_doctor.probes import cuda_early  # noqa: PLC0415 - in the child only

    cuda_early.begin()
    from dsv4_doctor.probes import interpreter  # noqa: PLC0415 - CUDA comes first

    interpreter.begin(_python(arguments), os.environ)


def _python(arguments: Sequence[str]) -> str | None:
    """Return the value of ``--python`` in an unread command line."""
    following = zip(arguments, (*arguments[1:], ""), strict=True)
    named = (value for option, value in following if option == "--python")
    written = (each[len("--python=") :] for each in arguments if each.startswith("--python="))
    return next(named, None) or next(written, None) or None


def _load_and_answer(requests: int, answers: int) -> None:
    from dsv4_doctor.probes import registry  # noqa: PLC0415 - in the child only

    registry.load(_groups(registry.Request())[0])
    asked = b"".join(iter(partial(os.read, requests, _CHUNK), b""))
    if not asked:  # Nobody asks: it was another command line than it looked like.
        return
    request = pickle.loads(asked)  # noqa: S301 - from our own parent
    found = pickle.dumps(registry.take_snapshot(request, _groups(request)[0]))
    _write(answers, _SIZE.pack(len(found)) + found)


def _write(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _terminated(_signal: int, _frame: object) -> None:
    _leave(1)


def _leave(status: int) -> NoReturn:
    """End without waiting for a probe that hangs, and leave no program behind."""
    atexit._run_exitfuncs()
    os._exit(status)
