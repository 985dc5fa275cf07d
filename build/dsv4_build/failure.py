"""Why a child of a build failed, and the way out, from the whole of its log."""

from __future__ import annotations

from contextlib import suppress
from fnmatch import fnmatchcase
from itertools import islice
from typing import TYPE_CHECKING

from dsv4_build import own_words
from dsv4_doctor.errors import BuildError
from dsv4_doctor.logs.session import Session
from dsv4_doctor.logs.text import TextReader

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dsv4_build.process import ChildFailedError
    from dsv4_doctor.logs.diagnosis import Cause

_CHUNK = 1 << 20

# Causes that only say that some program stopped: its own words say more.
_GENERAL = ("general.cmake.error", "general.compiler.error", "general.linker.error")

# What `dsv4-doctor build` itself offers against a cause.
_OPTIONS = {
    "build.network.git": "--git-mirror DIR has the repositories as DIR/OWNER/NAME.git",
    "build.git.commit-missing": "--git-mirror DIR has the repositories as DIR/OWNER/NAME.git",
    "build.memory.killed": "it was killed alone, too, so that it needs more memory than there is; "
    "with --no-schedule, fewer --jobs",
    "build.died-silently": "fewer --jobs",
    "toolkit.*": "--toolchain pypi assembles a toolkit that is complete and of one release",
    "build.cutlass.missing": "its python/ and tools/ are needed, too, where kernels are generated",
}


def explained(error: ChildFailedError) -> BuildError:
    """Return the error with its first cause and the way out.

    Of a failure that has no name, the message has the log's own words in three lines.
    """
    cause = _cause(error)
    if cause is not None and cause.id not in _GENERAL:
        return BuildError(str(error), hint="\n  ".join(_hint(cause)))
    said = "".join(f"\n  {line}" for line in _said(error))
    return BuildError(str(error).partition("\n")[0] + said)


def _said(error: ChildFailedError) -> tuple[str, ...]:
    if error.log is not None:
        with suppress(OSError), error.log.open(encoding="utf-8", errors="replace") as log:
            # The last program in the log is the one that failed.
            starts = [number for number, line in enumerate(log) if line.startswith("$ ")]
            log.seek(0)
            return own_words.cause(islice(log, max(starts, default=-1) + 1, None))
    return own_words.cause(error.lines)


def _cause(error: ChildFailedError) -> Cause | None:
    session = Session(str(error.log))
    try:
        for text in TextReader().read(_pieces(error.log)):
            session.feed(text)
    except OSError:
        # The disk that is full may be the one that the log is on.
        session.feed("\n".join(error.lines).encode())
    # How the child ended stands in the message alone.
    session.feed(f"\n{str(error).partition(chr(10))[0]}\n".encode())
    session.flush()
    causes = session.conclude().causes
    return causes[0] if causes else None


def _pieces(log: Path | None) -> Iterator[bytes]:
    if log is None:
        return
    with log.open("rb") as file:
        while data := file.read(_CHUNK):
            yield data


def _hint(cause: Cause) -> Iterator[str]:
    line = cause.lines[0].number
    yield f"first cause: {cause.title} (line {line} of the log): {cause.explanation}"
    if cause.remedy is not None:
        yield f"do: {cause.remedy.text}"
        yield from (command.shell() for command in cause.remedy.commands)
    for pattern, option in _OPTIONS.items():
        if fnmatchcase(cause.id, pattern):
            yield f"here: {option}"
    yield f"more: dsv4-doctor diagnose --show {cause.id}"
