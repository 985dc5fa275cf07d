"""Asks the server of this container whether it answers; for the image's HEALTHCHECK."""

from __future__ import annotations

import ssl
import sys
import urllib.request
from itertools import pairwise
from pathlib import Path

DEFAULT_PORT = "8000"
# Below the limit that the Dockerfile sets.
LIMIT = 8.0


def main() -> int:
    """Return 0 when it does, 1 when not."""
    try:
        arguments = Path("/proc/1/cmdline").read_text(encoding="utf-8").split("\0")
    except (OSError, ValueError):
        arguments = []
    return ask(address(arguments))


def address(arguments: list[str]) -> str:
    """Return where a server that was started with these arguments tells how it is."""
    port, scheme = DEFAULT_PORT, "http"
    for each, following in pairwise([*arguments, ""]):
        name, _, value = each.partition("=")
        if name == "--port":
            port = value or following
        elif name == "--ssl-certfile":
            scheme = "https"
    return f"{scheme}://127.0.0.1:{port}/health"


def ask(url: str) -> int:
    """Return 0 when the server answers that it is well, 1 otherwise."""
    # The certificate is for the name that clients use, not for this address.
    context = ssl._create_unverified_context()  # noqa: S323
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
    )
    try:
        with opener.open(url, timeout=LIMIT):
            return 0
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{url}: {error}\n")
        return 1
