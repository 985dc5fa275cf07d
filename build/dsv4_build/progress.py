"""How a build goes, on standard error: a moving line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import re
import shutil
import sys
import time
from dataclasses import dataclass, field
from threading import RLock
from typing import TextIO

_NINJA = re.compile(r"\[(?P<done>\d+)/(?P<total>\d+)\] (?P<what>.*)")

# Seconds between plain lines: a log should tell that the build lives without drowning in it.
PLAIN_INTERVAL = 15.0
STATUS_INTERVAL = 60.0


@dataclass
class Progress:
    """Where a build says what it does; results never go through here.

    Attributes:
        stream: Usually standard error.
        counted: What ninja has done, and of how many.
    """

    stream: TextIO = field(default_factory=lambda: sys.stderr)
    counted: tuple[int, int] = (0, 0)
    _moving: bool = False
    _watched: bool = False
    _last: float = 0.0
    # A thread shows how the compile engine gets on.
    _lock: RLock = field(default_factory=RLock, repr=False)

    def step(self, name: str, text: str) -> None:
        """Say that a step of the plan begins."""
        with self._lock:
            self._write(f"{name:<10} {text}\n")
            self._last = time.monotonic()
            self._watched = False

    def say(self, text: str) -> None:
        """Say something about the present step."""
        with self._lock:
            self._write(f"           {text}\n")

    def line(self, line: str) -> None:
        """Take a line of a build's output; those of ninja move the progress on."""
        match = _NINJA.match(line)
        if match is None:
            return
        with self._lock:
            self.counted = int(match["done"]), int(match["total"])
            edge = match["done"] in {"1", match["total"]}
            if self._watched and not edge:
                # The compile engine tells more, and more often.
                return
            text = f"[{match['done']}/{match['total']}] {_short(match['what'])}"
            self._show(text, 0.0 if edge else PLAIN_INTERVAL)

    def status(self, text: str) -> None:
        """Show how the compile engine gets on."""
        with self._lock:
            self._show(text, STATUS_INTERVAL if self._watched else PLAIN_INTERVAL)
            self._watched = True

    def _show(self, text: str, interval: float) -> None:
        """Move the line on a terminal; elsewhere, write one when enough time has passed."""
        if self.stream.isatty():
            width = shutil.get_terminal_size().columns - 1
            self.stream.write(f"\r\033[K{('           ' + text)[:width]}")
            self.stream.flush()
            self._moving = True
            return
        now = time.monotonic()
        if now - self._last >= interval:
            self._last = now
            self.say(text)

    def _write(self, text: str) -> None:
        if self._moving:
            self.stream.write("\r\033[K")
            self._moving = False
        self.stream.write(text)
        self.stream.flush()


def _short(what: str) -> str:
    """Shorten ninja's description to what it makes."""
    path = what.rpartition(" ")[2]
    kind = "linking" if what.startswith("Linking") else "compiling"
    return f"{kind} {path.rpartition('/')[2].removesuffix('.o')}" if "/" in path else what
