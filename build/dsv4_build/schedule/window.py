"""How many units ninja hands over, so that there are some to choose from."""

from __future__ import annotations

# Bytes of a launcher that waits, and the part of the memory that all of them may take: measured
# with CPython 3.12, 4.8 MB of memory that is not shared.
_LAUNCHER = 5 << 20
_PART = 50

_LEAST, _MOST = 4, 256


def window(jobs: int, memory: int | None) -> int:
    """Return the number for ``ninja -j``.

    Args:
        jobs: Compilers at a time.
        memory: Bytes, ``None`` when it could not be told.
    """
    fitting = (memory or 0) // _PART // _LAUNCHER
    return jobs + min(max(fitting, _LEAST), _MOST)
