"""The process itself: it loads the probes, waits for the request, runs them and answers."""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import sys
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from dsv4_doctor.prober.arguments import last
from dsv4_doctor.prober.channel import CHUNK, SIZE, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsv4_doctor.probes.registry import Group, Request


def serve(
    requests: int, answers: int, arguments: Sequence[str], groups: Sequence[Group]
) -> NoReturn:
    """Load the probes, wait for the request, run them, answer and end.

    Args:
        requests: Where the request comes from; its end means that nobody asks.
        answers: Where the answer goes.
        arguments: Of the command line, unread.
        groups: Of the probes that run here.
    """
    status = 1
    try:
        signal.signal(signal.SIGTERM, _terminated)
        # It is waited for longer than for anything but CUDA, which has begun before.
        if "installed" in groups:
            from dsv4_doctor.probes import interpreter  # noqa: PLC0415 - in this process only

            interpreter.begin(last(arguments, "--python"), os.environ)
        _load_and_answer(requests, answers, arguments, groups)
        status = 0
    except BrokenPipeError:
        pass
    except Exception:  # noqa: BLE001 - it ends here, and the other process says how
        sys.excepthook(*sys.exc_info())
    finally:
        _leave(status)


def _load_and_answer(
    requests: int, answers: int, arguments: Sequence[str], groups: Sequence[Group]
) -> None:
    from dsv4_doctor.prober.guess import guess  # noqa: PLC0415 - the interpreter comes first
    from dsv4_doctor.probes import registry  # noqa: PLC0415

    guessed = guess(arguments)
    there = registry.of(groups, guessed)
    registry.load(there)
    pending = registry.start(guessed, there)
    asked = b"".join(iter(partial(os.read, requests, CHUNK), b""))
    if not asked:  # Nobody asks: it was another command line than it looked like.
        return
    request: Request = pickle.loads(asked)  # noqa: S301 - from our own parent
    if vars(request) != vars(guessed):
        pending = registry.start(request, registry.of(groups, request))
    found = pickle.dumps(pending.finish())
    write(answers, SIZE.pack(len(found)) + found)


def _terminated(_signal: int, _frame: object) -> None:
    _leave(1)


def _leave(status: int) -> NoReturn:
    """End without waiting for a probe that hangs, and leave no program behind."""
    atexit._run_exitfuncs()
    os._exit(status)
