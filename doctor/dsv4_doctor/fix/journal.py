"""What ``fix --apply`` did, written down before it is done, as JSON lines."""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsv4_doctor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SCHEMA = "dsv4-doctor/fix-journal/1"

# Entries of the journal: a step that is about to be taken, and how it went on.
_STEP = "step"
_EVENTS = frozenset({"taken", "failed", "undone"})


@dataclass(frozen=True)
class Done:
    """One step.

    Attributes:
        id: Unique.
        run: The run of ``fix --apply`` that took it.
        at: ISO 8601, UTC.
        findings: Ids of what it mends.
        path: File that was written, empty for a program.
        before: Its content, ``None`` when there was no such file.
        after: Its content afterwards.
        argv: Program that was run.
        undo: Program that takes it back.
        taken: Whether it is known to have been taken; ``False`` when something ended the doctor
            in between.
    """

    id: str
    run: str
    at: str
    findings: tuple[str, ...]
    path: str = ""
    before: str | None = None
    after: str = ""
    argv: tuple[str, ...] = ()
    undo: tuple[str, ...] = ()
    taken: bool = False


def place(environ: Mapping[str, str] | None = None) -> Path:
    """Return the journal's place below XDG_STATE_HOME."""
    environ = os.environ if environ is None else environ
    base = environ.get("XDG_STATE_HOME") or Path("~/.local/state").expanduser()
    return Path(base) / "dsv4-doctor" / "fix.jsonl"


class Journal:
    """The journal of one user, locked while it is open."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor

    def begin(self, done: Done) -> None:
        """Write down a step that is about to be taken."""
        self._append({"schema": SCHEMA, "kind": _STEP, **asdict(done)})

    def end(self, done: Done, how: str) -> None:
        """Write down how a step went on: ``taken``, ``failed`` or ``undone``."""
        self._append({"schema": SCHEMA, "kind": how, "id": done.id})

    def last_run(self) -> tuple[Done, ...]:
        """Return the steps of the last run of which something is left to take back, in order.

        Raises:
            InputError: The journal cannot be read, or a newer doctor wrote it.
        """
        left: dict[str, Done] = {}
        for entry in self._entries():
            if entry["kind"] == _STEP:
                done = _step(entry)
                left[done.id] = done
            elif entry["kind"] != "taken":
                left.pop(entry["id"], None)
            elif entry["id"] in left:
                left[entry["id"]] = replace(left[entry["id"]], taken=True)
        last = next(reversed(left.values()), None)
        return tuple(each for each in left.values() if last is not None and each.run == last.run)

    def _entries(self) -> Iterator[dict[str, Any]]:
        try:
            lines = self._path.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            msg = f"{self._path}: cannot read the journal: {error}"
            raise InputError(msg) from error
        # What stands after the last line feed was cut off while it was written: not yet taken.
        for number, line in enumerate(lines[:-1], start=1):
            entry = _parsed(line)
            if entry is None:
                msg = f"{self._path}:{number}: not a line of a journal that this doctor reads"
                raise InputError(msg)
            yield entry

    def _append(self, entry: dict[str, Any]) -> None:
        content = json.dumps(entry, ensure_ascii=True).encode() + b"\n"
        end = os.lseek(self._descriptor, 0, os.SEEK_END)
        if end and os.pread(self._descriptor, 1, end - 1) != b"\n":
            os.ftruncate(self._descriptor, self._whole_lines(end))
            os.lseek(self._descriptor, 0, os.SEEK_END)
        os.write(self._descriptor, content)
        os.fsync(self._descriptor)

    def _whole_lines(self, size: int) -> int:
        """Return how many bytes are whole lines: a line that was cut off gives way."""
        return os.pread(self._descriptor, size, 0).rfind(b"\n") + 1


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict) or entry.get("schema") != SCHEMA:
        return None
    fields = set(Done.__dataclass_fields__) if entry.get("kind") == _STEP else {"id"}
    known = entry.get("kind") == _STEP or entry.get("kind") in _EVENTS
    return entry if known and fields <= set(entry) else None


def _step(entry: dict[str, Any]) -> Done:
    before = entry["before"]
    return Done(
        id=str(entry["id"]),
        run=str(entry["run"]),
        at=str(entry["at"]),
        findings=tuple(map(str, entry["findings"])),
        path=str(entry["path"]),
        before=None if before is None else str(before),
        after=str(entry["after"]),
        argv=tuple(map(str, entry["argv"])),
        undo=tuple(map(str, entry["undo"])),
    )


@contextmanager
def opened(path: Path) -> Iterator[Journal]:
    """Open the journal for this process alone.

    Raises:
        InputError: It cannot be written, or another run has it.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        msg = f"{path}: cannot write the journal here: {error.strerror or error}"
        raise InputError(msg) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            msg = f"{path}: another dsv4-doctor fix is at work"
            raise InputError(msg) from error
        yield Journal(path, descriptor)
    finally:
        os.close(descriptor)
