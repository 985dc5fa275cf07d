"""Whether CUDA starts: asked in a child process, because a driver in trouble hangs or crashes."""

from __future__ import annotations

import os
import re
import select
import signal
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from dsv4_doctor.facts.driver import CudaStart
from dsv4_doctor.process import ProcessError, run

if TYPE_CHECKING:
    from collections.abc import Mapping

# Seconds. Without a persistence daemon the driver initialises every GPU first.
LIMIT = 4.5

_LIBRARY = "libcuda.so.1"
_ASK = """
import ctypes, sys
try:
    cuda = ctypes.CDLL(sys.argv[1])
    code = cuda.cuInit(0)
except (OSError, AttributeError) as error:
    print("error", error)
    sys.exit()
count = ctypes.c_int(0)
if code == 0:
    cuda.cuDeviceGetCount(ctypes.byref(count))
print("code", code, "devices", count.value)
"""
_ANSWER = re.compile(r"^code (-?\d{1,6}) devices (-?\d{1,6})$", re.MULTILINE)
_ERROR = re.compile(r"^error (.*)$", re.MULTILINE)


# A GPU to ask for: a card's own file, Windows' adapter, a Jetson's GPU.
GPU_NODE = re.compile(r"nvidia\d+|dxg|nvhost-gpu")

# What was begun before it was asked for: process, the pipe it answers through, and since when.
_begun: list[tuple[int, int, float]] = []


def begin(dev: str = "/dev") -> None:
    """Start CUDA now, for :func:`ask` to read the answer later; nothing without a GPU's device.

    Starting takes longer than all other facts together. To be called by a process that has one
    thread only: the child is a copy of it, which spares it the start of another interpreter.
    """
    if not any(GPU_NODE.fullmatch(name) for name in os.listdir(dev)):  # noqa: PTH208 - no pathlib yet
        return
    read, write = os.pipe()
    process = os.fork()
    if process == 0:
        _start(write)
    os.close(write)
    _begun.append((process, read, time.monotonic()))


def _start(answers: int) -> NoReturn:
    status = 1
    with suppress(BaseException):
        os.setsid()
        os.dup2(answers, 1)
        sys.argv = ["", _LIBRARY]
        with suppress(SystemExit):
            exec(_ASK, {})  # noqa: S102 - the same as for a child with an interpreter of its own
        sys.stdout.flush()
        status = 0
    os._exit(status)


def _awaited(process: int, answers: int, deadline: float) -> CudaStart:
    """Read what a child that was begun says; it is killed when it takes too long."""
    output = b""
    while (left := deadline - time.monotonic()) > 0:
        if not select.select([answers], [], [], left)[0]:
            break
        piece = os.read(answers, 4096)
        if not piece:
            _, status = os.waitpid(process, 0)
            return parse(output.decode("utf-8", "replace"), os.waitstatus_to_exitcode(status))
        output += piece
    with suppress(OSError):
        os.killpg(process, signal.SIGKILL)
    return CudaStart(None, error=f"no answer within {LIMIT:g} s")


def ask(
    library: str = _LIBRARY, *, limit: float = LIMIT, env: Mapping[str, str] | None = None
) -> CudaStart:
    """Return what ``cuInit`` and ``cuDeviceGetCount`` say.

    Args:
        library: Name or path of the driver's library.
        limit: Seconds that they may take.
        env: Variables on top of the caller's environment.
    """
    if _begun and library == _LIBRARY and env is None:
        process, answers, since = _begun.pop()
        return _awaited(process, answers, since + limit)
    try:
        done = run([sys.executable, "-I", "-S", "-c", _ASK, library], limit=limit, env=env)
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
