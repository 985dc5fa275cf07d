"""Whether CUDA starts: asked in a child process, because a driver in trouble hangs or crashes."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

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


def ask(
    library: str = _LIBRARY, *, limit: float = LIMIT, env: Mapping[str, str] | None = None
) -> CudaStart:
    """Return what ``cuInit`` and ``cuDeviceGetCount`` say.

    Args:
        library: Name or path of the driver's library.
        limit: Seconds that they may take.
        env: Variables on top of the caller's environment.
    """
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
