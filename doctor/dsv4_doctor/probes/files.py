"""Looking at files that may be absent, forbidden or impossible: all mean "not there"."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# Bytes; longer than any file of /proc and /sys that is read, and far into any header.
_LIMIT = 256 << 10


def is_file(path: str | Path) -> bool:
    """Whether there is a file that can be seen."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def is_directory(path: str | Path) -> bool:
    """Whether there is a directory that can be seen."""
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def exists(path: str | Path) -> bool:
    """Whether there is anything that can be seen."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def first_file(paths: Iterable[Path]) -> Path | None:
    """Return the first path that is a file."""
    return next(filter(is_file, paths), None)


def read(path: str | Path, limit: int = _LIMIT) -> str | None:
    """Return the first bytes of a file as text, ``None`` when it cannot be read."""
    try:
        with Path(path).open("rb") as file:
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
