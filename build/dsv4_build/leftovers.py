"""Programs of a build that was killed: they run on, and would write into the next one's files."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from dsv4_doctor.errors import BuildError

# Set for every program of a build, with the work directory as its value.
MARK = "DSV4_DOCTOR_WORK"

# Servers that a compiler's cache starts on the way: they outlive a build on purpose.
_SERVERS = frozenset({"sccache", "ccache"})

# Seconds for what was killed to be gone; only a disk that hangs takes longer.
_LIMIT = 30.0
_POLL = 0.05


def end(work: Path, proc: Path = Path("/proc")) -> int:
    """Kill what an earlier build in a work directory left running, and wait until it is gone.

    Whoever calls this holds the directory, so that nothing with its mark is in use.

    Returns:
        How many there were.

    Raises:
        BuildError: One does not end.
    """
    found = running(work, proc)
    for process in found:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    deadline = time.monotonic() + _LIMIT
    left = found
    while left:
        if time.monotonic() > deadline:
            msg = f"processes of an earlier build do not end: {', '.join(map(str, left))}"
            raise BuildError(msg, hint="they write into this one's files; end them first")
        time.sleep(_POLL)
        left = running(work, proc)
    return len(found)


def running(work: Path, proc: Path = Path("/proc")) -> list[int]:
    """Return the programs of a build in a work directory."""
    mark = f"{MARK}={work}".encode()
    found = []
    for entry in proc.glob("[0-9]*"):
        try:
            variables = (entry / "environ").read_bytes().split(b"\0")
            name = (entry / "comm").read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            continue
        if mark in variables and name not in _SERVERS:
            found.append(int(entry.name))
    return sorted(found)
