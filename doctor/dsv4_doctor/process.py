"""The one door for child processes: a time limit, ``LC_ALL=C``, no shell, no input."""

from __future__ import annotations

import atexit
import os
import selectors
import signal
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from dsv4_doctor.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# A probe as a whole has five seconds; one child of it gets less, so that the probe can still
# say which of its children was slow.
DEFAULT_LIMIT = 4.0

# Bytes of each stream that are kept. A program that prints more is still drained, so that it does
# not block on a full pipe, but what it prints beyond this cannot be an answer to a question.
MAX_OUTPUT = 4 << 20

_CHUNK = 64 << 10
# A process that waits inside a driver does not die of SIGKILL; it is left behind then.
_REAP_LIMIT = 1.0


@dataclass(frozen=True)
class Completed:
    """What a finished child left behind.

    Attributes:
        argv: The command as it was run.
        returncode: Its exit status; negative for a signal.
        stdout: Decoded as UTF-8, undecodable bytes replaced, at most ``MAX_OUTPUT`` bytes.
        stderr: Likewise.
        seconds: Wall time.
    """

    argv: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether it exited with status 0."""
        return self.returncode == 0


# Children of threads that are still waiting for them when the process ends.
_running: set[subprocess.Popen[bytes]] = set()


class ProcessError(Exception):
    """A child could not be started or did not end in time; the message names it and says why."""


def clean_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment for a child whose output is read: the caller's, in the C locale."""
    env = dict(os.environ)
    env.pop("LANGUAGE", None)
    env["LC_ALL"] = "C"
    if extra:
        env.update(extra)
    return env


def run(
    argv: Sequence[str],
    *,
    limit: float = DEFAULT_LIMIT,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
) -> Completed:
    """Run a program to its end and return what it printed.

    The child gets a process group of its own, and the whole group is killed when the limit is
    reached: a wrapper script must not leave the program that it started behind.

    Args:
        argv: Program and arguments.
        limit: Seconds until the group is killed.
        env: Variables on top of the caller's environment.
        cwd: Working directory.

    Raises:
        ProcessError: Not found, not executable, or over the limit.
    """
    started = time.monotonic()
    name = os.fspath(argv[0])
    try:
        child = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=clean_environment(env),
            cwd=cwd,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        msg = f"{name}: {reason}"
        raise ProcessError(msg) from error
    _running.add(child)
    try:
        out, err = _drain(child, started + limit)
        child.wait(max(started + limit - time.monotonic(), 0.0))
    except subprocess.TimeoutExpired as error:
        kill_group(child)
        msg = f"{name}: no answer within {limit:g} s"
        raise ProcessError(msg) from error
    except BaseException:
        kill_group(child)
        raise
    finally:
        _running.discard(child)
    return Completed(
        argv=tuple(argv),
        returncode=child.returncode,
        stdout=out.decode("utf-8", "replace"),
        stderr=err.decode("utf-8", "replace"),
        seconds=time.monotonic() - started,
    )


def _drain(child: subprocess.Popen[bytes], deadline: float) -> tuple[bytearray, bytearray]:
    """Read both streams to their end and return the first ``MAX_OUTPUT`` bytes of each.

    Raises:
        subprocess.TimeoutExpired: A stream was still open at the deadline.
    """
    kept = (bytearray(), bytearray())
    with selectors.DefaultSelector() as selector:
        for stream, buffer in zip((child.stdout, child.stderr), kept, strict=True):
            if stream is not None:
                selector.register(stream, selectors.EVENT_READ, buffer)
        while selector.get_map():
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise subprocess.TimeoutExpired(child.args, 0)
            for key, _ in selector.select(remaining):
                chunk = os.read(key.fd, _CHUNK)
                if not chunk:
                    selector.unregister(key.fileobj)
                    continue
                key.data.extend(chunk[: MAX_OUTPUT - len(key.data)])
    _close(child)
    return kept


def kill_group(child: subprocess.Popen[bytes]) -> None:
    """Kill a child that was started in its own session, with everything that it started."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        child.kill()
    with suppress(subprocess.TimeoutExpired):
        child.wait(_REAP_LIMIT)
    _close(child)


@atexit.register
def _kill_running() -> None:
    """Leave no child behind when the process ends while a probe's thread still waits for it."""
    for child in tuple(_running):
        with suppress(OSError):
            os.killpg(child.pid, signal.SIGKILL)


def _close(child: subprocess.Popen[bytes]) -> None:
    for stream in (child.stdout, child.stderr):
        if stream is not None:
            stream.close()
