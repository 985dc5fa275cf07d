"""How a build goes, on standard error: a moving line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import re
import shutil
import sys
import time
from dataclasses import dataclass, field
from typing import TextIO

_NINJA = re.compile(r"\[(?P<done>\d+)/(?P<total>\d+)\] (?P<what>.*)")

# Seconds between plain lines: a log should tell that the build lives without drowning in it.
PLAIN_INTERVAL = 15.0


@dataclass
class Progress:
    """Where a build says what it does; results never go through here.

    Attributes:
        stream: Usually standard error.
    """

    stream: TextIO = field(default_factory=lambda: sys.stderr)
    _moving: bool = False
    _last: float = 0.0

    def step(self, name: str, text: str) -> None:
        """Say that a step of the plan begins."""
        self._write(f"{name:<10} {text}\n")
        self._last = time.monotonic()

    def say(self, text: str) -> None:
        """Say something about the present step."""
        self._write(f"           {text}\n")

    def line(self, line: str) -> None:
        """Take a line of a build's output; those of ninja move the progress on."""
        match = _NINJA.match(line)
        if match is None:
            return
        text = f"[{match['done']}/{match['total']}] {_short(match['what'])}"
        if self.stream.isatty():
            width = shutil.get_terminal_size().columns - 1
            self.stream.write(f"\r\033[K{('           ' + text)[:width]}")
            self.stream.flush()
            self._moving = True
            return
        now = time.monotonic()
        if match["done"] in {"1", match["total"]} or now - self._last >= PLAIN_INTERVAL:
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
