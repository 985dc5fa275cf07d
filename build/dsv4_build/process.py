"""The door for children that run for minutes: a log file, lines as they come, nothing left behind.

Short children, whose output is read at once, go through :mod:`dsv4_doctor.process`.
"""

from __future__ import annotations

import os
import re
import selectors
import subprocess
import time
from collections import deque
from dataclasses import dataclass
from io import FileIO
from typing import TYPE_CHECKING

from dsv4_build.view import OWN, View
from dsv4_doctor.errors import BuildError
from dsv4_doctor.process import kill_group

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

# Lines of a failed child's output that its error message repeats: the first that look like the
# cause, because what follows a cause is often only its consequences, or the last ones.
CAUSES = 8
TAIL = 15
WIDTH = 300

_CAUSE = re.compile(r"\b(?:[Ee]rror|ERROR|fatal)\b[^\w]*:|CMake Error|^FAILED:|\bKilled\b")

# Seconds between looks at a child that prints nothing.
POLL = 0.5

# What files a build writes may be read by everybody and written by their owner, whatever the
# caller's umask: permissions are part of a wheel's bytes.
UMASK = 0o022


@dataclass(frozen=True)
class Usage:
    """What a finished child took.

    Attributes:
        seconds: Wall time.
        cpu_seconds: User and system time of the child and of all that it waited for.
        peak_memory: Bytes of the largest single process among them.
    """

    seconds: float
    cpu_seconds: float
    peak_memory: int


@dataclass(frozen=True)
class Job:
    """A program to run to its end.

    Attributes:
        argv: Program and arguments.
        env: The whole environment of the child.
        log: File that the command and its output are appended to.
        cwd: Working directory.
        limit: Seconds that it may take, ``None`` for any time.
        view: Under which paths it sees its directories.
        prefix: A program with its arguments that runs this one, such as ``unshare``.
    """

    argv: Sequence[str]
    env: Mapping[str, str]
    log: Path
    cwd: Path | None = None
    limit: float | None = None
    view: View = OWN
    prefix: Sequence[str] = ()

    @property
    def name(self) -> str:
        """The program's name, for messages."""
        return os.path.basename(self.argv[0])  # noqa: PTH119 - a name, not a file of ours


class ChildFailedError(BuildError):
    """A child ended with an error, could not be started, or ran over its limit.

    Attributes:
        lines: The lines that look like the cause, and the last ones.
        log: File that has all of its output, ``None`` when it was never started.
    """

    def __init__(self, message: str, *, lines: Sequence[str] = (), log: Path | None = None) -> None:
        super().__init__(message)
        self.lines = tuple(lines)
        self.log = log


def run_logged(job: Job, on_line: Callable[[str], None] | None = None) -> Usage:
    """Run a program to its end; its output goes to the log file, line by line.

    The child gets a process group of its own. The whole group is killed when this function ends
    in any other way than with the child's own end: the limit, Ctrl-C, an error in ``on_line``.

    Args:
        on_line: Called with each line of output, without its end.

    Raises:
        ChildFailedError: Not started, ended with an error, or over the limit.
        BuildError: The log cannot be written, as on a disk that is full.
    """
    started = time.monotonic()
    with _open(job.log) as file:
        _write(file, f"$ {subprocess.list2cmdline([*job.prefix, *job.argv])}\n".encode(), job)
        child = _start(job)
        try:
            lines = _follow(child, job, file, on_line)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        except BaseException:
            kill_group(child)
            raise
    if child.stdout is not None:
        child.stdout.close()
    if child.returncode != 0:
        raise _failed(job, child.returncode, lines)
    return Usage(
        seconds=time.monotonic() - started,
        cpu_seconds=usage.ru_utime + usage.ru_stime,
        peak_memory=usage.ru_maxrss * 1024,
    )


def _open(log: Path) -> FileIO:
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        # Without a buffer: what could not be written is not tried again when the file is closed.
        return FileIO(log, "ab")
    except OSError as error:
        raise _unwritable(log, error) from error


def _write(log: FileIO, data: bytes, job: Job) -> None:
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[log.write(rest) or 0 :]
    except OSError as error:
        raise _unwritable(job.log, error) from error


def _unwritable(log: Path, error: OSError) -> BuildError:
    msg = f"{log}: cannot be written: {error.strerror or error}"
    return BuildError(msg, hint="what is done so far is kept; the next run goes on from there")


def _start(job: Job) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            job.view.enter([*job.prefix, *job.argv]),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(job.env),
            cwd=job.cwd,
            start_new_session=True,
            umask=UMASK,
        )
    except OSError as error:
        msg = f"{job.name}: {error.strerror or error}"
        raise ChildFailedError(msg) from error


class _Lines:
    """The lines of a child that its error message may need."""

    def __init__(self, on_line: Callable[[str], None] | None) -> None:
        self._on_line = on_line
        self.causes: list[str] = []
        self.tail: deque[str] = deque(maxlen=TAIL)

    def take(self, raw: bytes) -> None:
        line = raw.decode("utf-8", "replace").rstrip("\r")
        self.tail.append(line)
        if len(self.causes) < CAUSES and _CAUSE.search(line):
            self.causes.append(line)
        if self._on_line is not None:
            self._on_line(line)


def _follow(
    child: subprocess.Popen[bytes],
    job: Job,
    log: FileIO,
    on_line: Callable[[str], None] | None,
) -> _Lines:
    """Copy the output until the child ends; what it left running is not waited for."""
    kept = _Lines(on_line)
    rest = b""
    stream = child.stdout
    if stream is None:
        return kept
    descriptor = stream.fileno()
    started = time.monotonic()
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while True:
            if job.limit is not None and time.monotonic() - started > job.limit:
                msg = f"{job.name}: not finished within {job.limit:g} s; see {job.log}"
                raise ChildFailedError(msg, lines=(*kept.causes, *kept.tail), log=job.log)
            if not selector.select(POLL):
                if _ended(child):
                    break
                continue
            data = os.read(descriptor, 1 << 16)
            if not data:
                break
            _write(log, data, job)
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                kept.take(line)
    if rest:
        kept.take(rest)
    return kept


def _ended(child: subprocess.Popen[bytes]) -> bool:
    # WNOWAIT leaves the child's status to wait4, which also tells what it used.
    flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
    return os.waitid(os.P_PID, child.pid, flags) is not None


def _failed(job: Job, returncode: int, kept: _Lines) -> ChildFailedError:
    how = f"exit status {returncode}" if returncode > 0 else f"signal {-returncode}"
    msg = f"{job.name} failed with {how}; the whole output is in {job.log}"
    for line in kept.causes or kept.tail:
        msg += f"\n  {line.strip()[:WIDTH]}"
    return ChildFailedError(msg, lines=(*kept.causes, *kept.tail), log=job.log)
