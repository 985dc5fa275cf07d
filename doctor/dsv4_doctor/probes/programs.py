"""Finding programs the way a shell does, and telling a script from a binary."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.probes import files

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# A wrapper is a few lines; what is longer than this is an installer, not a wrapper.
_SCRIPT_SIZE = 64 << 10


def directories(environ: Mapping[str, str], *names: str) -> tuple[str, ...]:
    """Return the directories of variables such as PATH in order, each once, no empty entry."""
    entries = (entry for name in names for entry in environ.get(name, "").split(os.pathsep))
    return tuple(dict.fromkeys(filter(None, entries)))


def executable(path: str | Path) -> bool:
    """Whether the path is a file that this user may run."""
    try:
        return os.access(path, os.X_OK) and files.is_file(path)
    except ValueError:
        # A name that no file can have: a null byte, or half of a surrogate pair.
        return False


def find(name: str, where: Iterable[str]) -> str | None:
    """Return the first program of this name; a name with a slash is looked up as a path."""
    if os.sep in name:
        return name if executable(name) else None
    paths = (f"{directory}{os.sep}{name}" for directory in where)
    return next((str(Path(path)) for path in paths if executable(path)), None)


def which(name: str) -> str | None:
    """Return the first program of this name on PATH; importing ``shutil`` would take longer."""
    return find(name, directories(os.environ, "PATH"))


def script_text(path: str | Path) -> str | None:
    """Return the text of a script, ``None`` for a binary or a file that cannot be read."""
    head = files.read(path, _SCRIPT_SIZE)
    return head if head is not None and head.startswith("#!") else None
