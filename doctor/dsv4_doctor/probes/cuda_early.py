"""Starting CUDA before anybody asks: it takes longer than all other facts together.

``cuInit`` registers one GPU after the other. On H200 hosts without another CUDA process (driver
580.159) it takes 0.18 s with one GPU, of which 0.175 s are one ioctl of ``/dev/nvidia-uvm``,
``UVM_REGISTER_GPU``, and 0.42 s with two; 0.02 s where another process has done it and still runs:
``strace -f -T`` of a program that does nothing else. Seven of CUDA's variables were tried; with the
same devices visible none makes it shorter.

Imports next to nothing, so that it can be the first thing that a process does.
"""

from __future__ import annotations

import atexit
import os
import sys
import time

TYPE_CHECKING = False  # Importing typing takes longer than all else here.
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NoReturn

LIBRARY = "libcuda.so.1"
# A program, because it is also run by an interpreter of its own.
ASK = """
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

_KILL = 9


class Started:
    """A child that starts CUDA.

    Attributes:
        process: Its number, and that of its group.
        answers: Where it says how that went.
        since: On the monotonic clock.
        ended: Whether its end was waited for; its number may be another's from then on.
    """

    def __init__(self, process: int, answers: int) -> None:
        self.process = process
        self.answers = answers
        self.since = time.monotonic()
        self.ended = False

    def kill(self) -> None:
        """End it, in whatever state it is."""
        for kill in (os.killpg, os.kill):  # At first it has no group of its own.
            try:
                kill(self.process, _KILL)
            except OSError:
                continue
            return


_begun: list[Started] = []


def has_gpu(names: Iterable[str]) -> bool:
    """Whether device files are those of a GPU: a card's own, Windows' adapter, a Jetson's."""
    return any(
        name in {"dxg", "nvhost-gpu"} or (name.startswith("nvidia") and name[6:].isdigit())
        for name in names
    )


def begin(dev: str = "/dev") -> None:
    """Start CUDA in a child, whose answer is read later; nothing without a GPU's device file.

    To be called by a process that has one thread only: the child is a copy of it, which spares it
    the start of another interpreter.
    """
    if not has_gpu(os.listdir(dev)):  # noqa: PTH208 - pathlib takes longer than this
        return
    read, write = os.pipe()
    process = os.fork()
    if process == 0:
        _start(write)
    os.close(write)
    started = Started(process, read)
    _begun.append(started)
    atexit.register(_stop, started)


def begun() -> Started | None:
    """Return the child that was begun, once; ``None`` when there is none."""
    return _begun.pop() if _begun else None


def _stop(started: Started) -> None:
    if not started.ended:
        started.kill()


def _start(answers: int) -> NoReturn:
    status = 1
    try:
        os.setsid()
        os.dup2(answers, 1)
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 - it ends here
        sys.argv = ["", LIBRARY]
        _run(ASK)
        sys.stdout.flush()
        status = 0
    finally:
        os._exit(status)


def _run(program: str) -> None:
    try:  # noqa: SIM105 - importing contextlib takes longer than this module
        exec(program, {})  # noqa: S102 - the same as for a child with an interpreter of its own
    except SystemExit:
        pass
