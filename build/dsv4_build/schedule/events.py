"""The diary of a build: one JSON object a line, for whoever wants to show or explain it."""

from __future__ import annotations

import json
import time
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = "dsv4-doctor/schedule/1"

FILE = "schedule.jsonl"


class Events:
    """Writes ``schedule.jsonl``; the form is in docs/schedule.md.

    Args:
        path: The file, which is added to.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8")
        self._start = time.monotonic()

    def begin(self, **values: Any) -> None:
        """Write the first line of a build."""
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        self._start = time.monotonic()
        self.write("begin", schema=SCHEMA, time=now, **values)

    def write(self, event: str, **values: Any) -> None:
        """Write a line."""
        at = round(time.monotonic() - self._start, 3)
        self._file.write(json.dumps({"event": event, "at": at, **values}) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
