"""A server that does with a connection what a test tells it to."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager, suppress
from inspect import signature
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def serving(behave: Callable[..., None]) -> Iterator[str]:
    """Give the address of a server that treats each connection so.

    Args:
        behave: Takes the connection, an event that says when to end, and, where it has a third
            parameter, what came first.
    """
    wanted = len(signature(behave).parameters)
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.05)
    done = threading.Event()

    def run() -> None:
        while not done.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                continue
            with connection, suppress(OSError):
                connection.settimeout(1)
                first = connection.recv(65536)
                behave(connection, done, *([first] if wanted > 2 else []))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        done.set()
        thread.join()
        listener.close()
