"""What process 1 has to do: forward signals, reap orphans, end as its child ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dsv4_entrypoint.log import Log

DOCTOR = (sys.executable, "-I", str(Path(__file__).resolve().parents[2] / "doctor"))
SERVER = ("vllm", "serve")

# Seconds for what a server left running to close its output.
LINGER = 2.0

FORWARDED = (
    *(signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT),
    *(signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH, signal.SIGCONT),
)


class Supervisor:
    """Runs one child at a time, as process 1 has to."""

    def __init__(self) -> None:
        self._child = 0
        self._early = 0
        self.asked = 0

    def listen(self) -> None:
        """Forward signals from now on."""
        for each in FORWARDED:
            signal.signal(each, self._forward)

    def _forward(self, number: int, _frame: object) -> None:
        if number in {signal.SIGTERM, signal.SIGINT, signal.SIGQUIT}:
            self.asked = number
        if self._child:
            with suppress(ProcessLookupError):
                os.kill(self._child, number)
        else:
            self._early = number

    def look(self, *arguments: str, limit: float) -> int:
        """Run the doctor, which prints to standard error here, and return its exit status.

        Raises:
            OSError: It cannot be started.
            TimeoutError: It ran over the limit of so many seconds, and was killed.
        """
        # A session of its own, so that all of it can be killed.
        child = subprocess.Popen((*DOCTOR, *arguments), stdout=2, start_new_session=True)
        expired = threading.Event()
        timer = threading.Timer(limit, _kill_late, [child.pid, expired])
        timer.daemon = True
        timer.start()
        try:
            return self._reap(child)
        finally:
            timer.cancel()
            if expired.is_set():
                raise TimeoutError

    def serve(self, arguments: list[str], log: Log) -> int:
        """Run the server to its end and return its exit status as a shell would.

        Args:
            log: Gets what it prints, which is passed on all the same.

        Raises:
            OSError: It cannot be started.
        """
        pipe = subprocess.PIPE
        # A session of its own: a terminal's Ctrl-C would reach the server twice otherwise.
        argv = (*SERVER, *arguments)
        child = subprocess.Popen(argv, stdout=pipe, stderr=pipe, start_new_session=True)
        pump = threading.Thread(target=log.follow, args=(child,), daemon=True)
        pump.start()
        status = self._reap(child)
        pump.join(LINGER)
        return status

    def _reap(self, child: subprocess.Popen[bytes]) -> int:
        """Wait for a child, and for whatever was left to process 1 meanwhile."""
        self._child = child.pid
        if self._early:  # It came while the child was being started.
            early, self._early = self._early, 0
            self._forward(early, None)
        while True:
            pid, status = os.waitpid(-1, 0)
            if pid == child.pid:
                self._child = 0
                child.returncode = os.waitstatus_to_exitcode(status)
                return child.returncode if child.returncode >= 0 else 128 - child.returncode


def _kill_late(pid: int, expired: threading.Event) -> None:
    expired.set()
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
