"""Making a process believe to be another user on another machine; nothing outside changes."""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from pathlib import Path

from dsv4_build.enter import CLONE_NEWUSER
from dsv4_doctor.process import ProcessError, run

# linux/sched.h
CLONE_NEWUTS = 0x04000000

_LIMIT = 30.0
_TRY = "from dsv4_build.reproduce.disguise import become; become(4711, 'another')"

_libc = ctypes.CDLL(None, use_errno=True)


def become(user: int, hostname: str) -> None:
    """Give this process, which must have one thread, another user number and host name.

    It keeps the rights that its real user has to files.

    Raises:
        OSError: The kernel does not allow it.
    """
    real_user, real_group = os.geteuid(), os.getegid()
    _check(_libc.unshare(CLONE_NEWUSER | CLONE_NEWUTS))
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"{user} {real_user} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"{user} {real_group} 1", encoding="ascii")
    name = hostname.encode()
    _check(_libc.sethostname(name, len(name)))


def _check(status: int) -> None:
    if status != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


@cache
def refusal() -> str | None:
    """Return why a process cannot be disguised here, ``None`` when it can."""
    try:
        done = run([sys.executable, "-c", _TRY], limit=_LIMIT)
    except ProcessError as error:
        return str(error)
    if done.ok:
        return None
    last = done.stderr.strip().rpartition("\n")[2]
    return f"no user namespace: {last}"
