"""What the server prints: passed on, and kept for a diagnosis."""

from __future__ import annotations

import os
import selectors
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

# The log of a start is kept whole, of a server that ran for weeks its end besides.
HEAD, TAIL = 16 << 20, 1 << 20
CHUNK = 64 << 10


class Log:
    """What a child prints: passed on, and its first and last bytes kept in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("wb", buffering=0)
        self._left = HEAD
        self._tail: deque[bytes] = deque()
        self._size = 0

    def follow(self, child: subprocess.Popen[bytes]) -> None:
        """Copy both streams until they are closed."""
        with selectors.DefaultSelector() as selector:
            for stream, target in ((child.stdout, 1), (child.stderr, 2)):
                if stream is not None:
                    selector.register(stream.fileno(), selectors.EVENT_READ, target)
            while selector.get_map():
                for key, _ in selector.select():
                    data = os.read(key.fd, CHUNK)
                    if not data:
                        selector.unregister(key.fd)
                        continue
                    self._keep(data)
                    pass_on(key.data, data)

    def _keep(self, data: bytes) -> None:
        if self._left > 0:
            try:
                self._file.write(data)
            except OSError:  # A full disk must not end the server.
                self._left = 0
            self._left -= len(data)
            return
        self._tail.append(data)
        self._size += len(data)
        while self._size - len(self._tail[0]) > TAIL:
            self._size -= len(self._tail.popleft())

    def close(self) -> None:
        """Write the end of what was printed behind its beginning."""
        with suppress(OSError):
            self._file.write(b"".join(self._tail))
        self._file.close()


def pass_on(target: int, data: bytes) -> None:
    """Write everything to a descriptor, unless nobody reads there any more."""
    try:
        while data:
            data = data[os.write(target, data) :]
    except OSError:  # Nobody reads any more; the server goes on.
        pass


def say(message: str) -> None:
    """Say something on standard error."""
    pass_on(2, f"dsv4-entrypoint: {message}\n".encode())
