"""The journal of a work directory: a line an event, on the disk before anything follows from it."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from dsv4_doctor.errors import BuildError

_BOOT = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class Journal:
    """A file that only grows, a JSON object a line.

    A line counts once its line feed is there: what a crash tore off is as if it had never been
    begun, and the next line starts anew.
    """

    path: Path
    _lock: Lock

    @classmethod
    def at(cls, path: Path) -> Journal:
        """Return the journal that is, or will be, in a file."""
        return cls(path, Lock())

    def append(self, event: str, **fields: Any) -> None:
        """Write a line and wait until the disk has it.

        Raises:
            BuildError: It cannot be written; the journal is then as it was.
        """
        line = json.dumps({"event": event, **fields}).encode() + b"\n"
        try:
            with self._lock:
                self._append(line)
        except OSError as error:
            msg = f"{self.path}: cannot be written: {error.strerror or error}"
            raise BuildError(msg, hint="what is done so far is kept") from error

    def _append(self, line: bytes) -> None:
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            end = os.lseek(descriptor, 0, os.SEEK_END)
            if end and os.pread(descriptor, 1, end - 1) != b"\n":
                line = b"\n" + line
            try:
                rest = memoryview(line)
                while rest:
                    rest = rest[os.write(descriptor, rest) :]
                os.fsync(descriptor)
                if end == 0:
                    _keep_name(self.path)
            except OSError:
                # A disk that is full takes a part of a line.
                with suppress(OSError):
                    os.ftruncate(descriptor, end)
                raise
        finally:
            os.close(descriptor)

    def read(self) -> list[dict[str, Any]]:
        """Return every whole line; there is none where there is no journal.

        Raises:
            BuildError: It is there and cannot be read.
        """
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            msg = f"{self.path}: cannot be read: {error.strerror or error}"
            raise BuildError(msg) from error
        return parse(content)


def _keep_name(file: Path) -> None:
    """Wait until the disk has a file's name, too."""
    directory = os.open(file.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def parse(content: bytes) -> list[dict[str, Any]]:
    """Return the events of a journal; a line that is torn or no event is left out."""
    found = []
    for line in content.split(b"\n")[:-1]:
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(entry, dict) and isinstance(entry.get("event"), str):
            found.append(entry)
    return found


def boot() -> str:
    """Return what the kernel calls this boot; empty where it does not tell."""
    try:
        return _BOOT.read_text(encoding="ascii").strip()
    except OSError:
        return ""
