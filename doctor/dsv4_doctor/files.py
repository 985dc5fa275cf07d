"""Writing files so that nobody ever sees half of one."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

from dsv4_doctor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

STDOUT = "-"


def atomically(
    target: Path, write: Callable[[IO[bytes]], object], *, durable: bool = False
) -> None:
    """Write a file that is complete as soon as it has its name.

    Interrupted at any moment, the old file (or none) is there, never a part of the new one.

    Args:
        durable: Wait for the disk, so that this also holds for a machine that loses its power.

    Raises:
        OSError: It cannot be written; its directory must exist.
    """
    import tempfile  # noqa: PLC0415 - with random and more, and a check mostly writes no file

    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            write(file)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def deliver(text: str, output: str) -> None:
    """Write a result as UTF-8 to a file that the user named, or to standard output for ``-``.

    Lone surrogates, which stand for undecodable bytes of a path, are written out as ``\\udc80``.

    Raises:
        InputError: The place cannot be written.
    """
    content = text.encode("utf-8", "backslashreplace")
    if output == STDOUT:
        try:
            sys.stdout.flush()
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            msg = f"standard output: cannot write: {error.strerror or error}"
            raise InputError(msg) from error
    else:
        write_atomically(Path(output), content)


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file that the user named.

    Raises:
        InputError: The place cannot be written.
    """
    try:
        atomically(path, lambda file: file.write(content))
    except OSError as error:
        msg = f"{path}: cannot write here: {error.strerror or error}"
        raise InputError(msg) from error
