"""Whether CUDA starts: asked in a child process, because a driver in trouble hangs or crashes."""

from __future__ import annotations

import os
import re
import select
import sys
import time
from typing import TYPE_CHECKING

from dsv4_doctor.facts.driver import CudaStart
from dsv4_doctor.probes import cuda_early
from dsv4_doctor.process import ProcessError, run

if TYPE_CHECKING:
    from collections.abc import Mapping

# Seconds. Without a persistence daemon the driver initialises every GPU first.
LIMIT = 4.5

_ANSWER = re.compile(r"^code (-?\d{1,6}) devices (-?\d{1,6})$", re.MULTILINE)
_ERROR = re.compile(r"^error (.*)$", re.MULTILINE)


def _awaited(started: cuda_early.Started, limit: float) -> CudaStart:
    """Read what a child that was begun says; it is killed when it takes too long.

    What has answered is not waited for: its end takes a third of what its start took.
    """
    output = b""
    while (left := started.since + limit - time.monotonic()) > 0:
        if not select.select([started.answers], [], [], left)[0]:
            break
        piece = os.read(started.answers, 4096)
        if not piece:
            _, status = os.waitpid(started.process, 0)
            started.ended = True
            return parse(output.decode("utf-8", "replace"), os.waitstatus_to_exitcode(status))
        output += piece
        text = output.decode("utf-8", "replace")
        if text.endswith("\n") and _ANSWER.search(text):
            return parse(text, 0)
    started.kill()
    return CudaStart(None, error=f"no answer within {limit:g} s")


def ask(
    library: str = cuda_early.LIBRARY, *, limit: float = LIMIT, env: Mapping[str, str] | None = None
) -> CudaStart:
    """Return what ``cuInit`` and ``cuDeviceGetCount`` say.

    Args:
        library: Name or path of the driver's library.
        limit: Seconds that they may take.
        env: Variables on top of the caller's environment.
    """
    started = cuda_early.begun() if library == cuda_early.LIBRARY and env is None else None
    if started is not None:
        return _awaited(started, limit)
    try:
        done = run(
            [sys.executable, "-I", "-S", "-c", cuda_early.ASK, library], limit=limit, env=env
        )
    except ProcessError as error:
        # The message names the interpreter; what did not answer is CUDA.
        return CudaStart(None, error=str(error).partition(": ")[2])
    return parse(done.stdout, done.returncode)


def parse(output: str, status: int) -> CudaStart:
    """Read what the child printed.

    Args:
        output: Its standard output.
        status: Its exit status; negative for a signal.
    """
    answer = _ANSWER.search(output)
    if answer is not None:
        code = int(answer[1])
        return CudaStart(code, int(answer[2]) if code == 0 else None)
    error = _ERROR.search(output)
    if error is not None:
        return CudaStart(None, error=error[1])
    how = f"signal {-status}" if status < 0 else f"exit status {status}"
    return CudaStart(None, error=f"the process that asked ended with {how}")
