"""The processes seen from the one that began them: asking for the facts and waiting for them."""

from __future__ import annotations

import os
import pickle
import select
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from dsv4_doctor.prober.channel import CHUNK, SIZE, write
from dsv4_doctor.probes import registry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dsv4_doctor.prober import Begun
    from dsv4_doctor.probes.registry import Request
    from dsv4_doctor.snapshot import Snapshot

# Seconds beyond the limit of a probe until the process itself is given up.
_GRACE = 3.0
# Seconds between the end of a process's last word and its own.
_REAP = 0.5


class Prober:
    """The processes, seen from the one that began them.

    Attributes:
        begun: Those that wait for a request.
    """

    def __init__(self, begun: Sequence[Begun]) -> None:
        self.begun = begun

    def take(self, request: Request) -> Callable[[], Snapshot]:
        """Let the probes run, here and there; the result waits and returns what they found."""
        asked = pickle.dumps(request)
        for each in self.begun:
            with suppress(BrokenPipeError):  # It has died; how is told below.
                write(each.requests, asked)
            os.close(each.requests)
        there = {group for each in self.begun for group in each.groups}
        here = tuple(probe for probe in registry.wanted(request) if probe.group not in there)
        pending = registry.start(request, here)
        deadline = pending.started + pending.limit + _GRACE
        taken: list[Snapshot] = []

        def finish() -> Snapshot:
            if not taken:
                parts = [_answer(each, request, deadline) for each in self.begun]
                taken.append(registry.merged([pending.finish(), *parts]))
            return taken[0]

        return finish


def _answer(begun: Begun, request: Request, deadline: float) -> Snapshot:
    """Return what a process found, or why it found nothing."""
    found = _receive(begun.answers, deadline)
    if found is None:
        return registry.nothing(registry.of(begun.groups, request), _end(begun.process))
    return found


def _receive(answers: int, deadline: float) -> Snapshot | None:
    """Return what was found there, ``None`` when the process does not say it."""
    data, size = b"", SIZE.size
    while len(data) < size:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([answers], [], [], left)[0]:
            return None
        piece = os.read(answers, CHUNK)
        if not piece:
            return None
        data += piece
        if len(data) >= SIZE.size:
            size = SIZE.size + SIZE.unpack_from(data)[0]
    found: Snapshot = pickle.loads(data[SIZE.size :])  # noqa: S301 - from our own child
    return found


def _end(process: int) -> str:
    """Return how a process ended."""
    until = time.monotonic() + _REAP
    ended, status = os.waitpid(process, os.WNOHANG)
    while not ended and time.monotonic() < until:
        time.sleep(0.01)
        ended, status = os.waitpid(process, os.WNOHANG)
    if not ended:
        return "the process that runs the probes does not answer"
    code = os.waitstatus_to_exitcode(status)
    how = f"signal {-code}" if code < 0 else f"exit status {code}"
    return f"the process that runs the probes ended with {how}"
