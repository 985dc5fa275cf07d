"""Writing files so that nobody ever sees half of one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from dsv4_doctor.errors import InputError


def write_atomically(path: Path, content: bytes, *, mode: int = 0o644) -> None:
    """Write a file through a temporary one beside it.

    Interrupted at any moment, the old file (or none) is there, never a part of the new one.

    Raises:
        InputError: The place cannot be written.
    """
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        msg = f"{path}: cannot write here: {error.strerror or error}"
        raise InputError(msg) from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), mode)
        Path(temporary).replace(path)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):
            msg = f"{path}: cannot write: {error.strerror or error}"
            raise InputError(msg) from error
        raise
