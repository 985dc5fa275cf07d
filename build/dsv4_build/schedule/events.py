"""The diary of a build: one JSON object a line, for whoever wants to show or explain it."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = "dsv4-doctor/schedule/1"

FILE = "schedule.jsonl"


class Events:
    """Writes ``schedule.jsonl``; the form is in docs/schedule.md.

    A disk that is full costs lines and nothing else: the compilers will say it themselves.

    Args:
        path: The file, which is added to.

    Raises:
        OSError: It cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._file = os.open(path, flags, 0o644)
        self._start = time.monotonic()

    def begin(self, **values: Any) -> None:
        """Write the first line of a build."""
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        self._start = time.monotonic()
        self.write("begin", schema=SCHEMA, time=now, **values)

    def write(self, event: str, **values: Any) -> None:
        """Write a line."""
        at = round(time.monotonic() - self._start, 3)
        line = json.dumps({"event": event, "at": at, **values}) + "\n"
        with suppress(OSError):
            os.write(self._file, line.encode())

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)
