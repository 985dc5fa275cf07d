"""Looking at files that may be absent, forbidden or impossible: all mean "not there".

A check looks at hundreds; ``pathlib`` would take longer for the objects than the kernel for the
answers, so this asks :mod:`os`, whose functions take impossible names for absent ones, too.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

# Bytes; longer than any file of /proc and /sys that is read, and far into any header.
_LIMIT = 256 << 10


def is_file(path: str | Path) -> bool:
    """Whether there is a file that can be seen."""
    return os.path.isfile(path)  # noqa: PTH113 - see above


def is_directory(path: str | Path) -> bool:
    """Whether there is a directory that can be seen."""
    return os.path.isdir(path)  # noqa: PTH112 - see above


def exists(path: str | Path) -> bool:
    """Whether there is anything that can be seen."""
    return os.path.exists(path)  # noqa: PTH110 - see above


def first_file(paths: Iterable[Path]) -> Path | None:
    """Return the first path that is a file."""
    return next(filter(is_file, paths), None)


def read(path: str | Path, limit: int = _LIMIT) -> str | None:
    """Return the first bytes of a file as text, ``None`` when it cannot be read."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - see above
            return file.read(limit).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None


def names(directory: str | Path) -> list[str]:
    """Return the names in a directory, in no order; nothing when it cannot be read."""
    try:
        with os.scandir(directory) as found:
            return [entry.name for entry in found]
    except (OSError, ValueError):
        return []
