"""Whether a compiler failed of itself or was killed, as the kernel does when memory runs out."""

from __future__ import annotations

import re

_SIGKILL = 128 + 9

# nvcc, gcc and clang each say in their own words that a part of them was killed.
_WORDS = re.compile(
    r"died due to signal 9\b"
    r"|fatal error: Killed signal terminated program \S+"
    r"|internal compiler error: Killed\b"
    r"|unable to execute command: Killed\b"
    r"|command failed due to signal 9\b"
    r"|(?m:^(?:sh: line \d+: +\d+ )?Killed\b)"
)


def how(status: int, output: str) -> str | None:
    """Return how a compiler was killed, ``None`` when it was not.

    Args:
        status: Its exit status, as a shell tells it.
        output: The end of what it printed.
    """
    if status == 0:
        return None
    match = _WORDS.search(output)
    if match is not None:
        return match[0].strip()
    return "signal 9" if status == _SIGKILL else None
