"""A real Redis with a password, on a port of its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

PASSWORD = "hunter2 @/|%"


def needs(*programs: str) -> None:
    """Leave a test out where programs are missing, unless they have to be there."""
    missing = [each for each in programs if shutil.which(each) is None]
    if missing and not os.environ.get("DSV4_CACHE_REQUIRED"):
        pytest.skip(f"not installed: {', '.join(missing)}")
    assert not missing


def address(port: int, password: str = PASSWORD) -> str:
    return f"redis://:{quote(password, safe='')}@127.0.0.1:{port}"


@contextmanager
def running(place: Path) -> Iterator[int]:
    """Run the server in a directory and give its port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    (place / "redis.conf").write_text(
        f'bind 127.0.0.1\nport {port}\nrequirepass "{PASSWORD}"\nsave ""\ndir {place}\n'
    )
    with (place / "log").open("wb") as log:
        server = subprocess.Popen(["redis-server", str(place / "redis.conf")], stdout=log)
    for _ in range(200):
        if "eady to accept connections" in (place / "log").read_text():
            break
        time.sleep(0.05)
    try:
        yield port
    finally:
        server.terminate()
        server.wait(20)
