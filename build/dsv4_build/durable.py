"""What has reached the disk: digests of what a step made, and forcing it out."""

from __future__ import annotations

import ctypes
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from dsv4_build.publish import sha256

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


def digests(root: Path, outputs: Iterable[Path]) -> dict[str, str]:
    """Return the SHA-256 of every file, by its path below ``root``.

    Args:
        outputs: Files, and directories with all that is in them.

    Raises:
        OSError: One is not there or cannot be read.
    """
    files = [file for each in outputs for file in _files(each)]
    # Two of a gigabyte each should not wait for one another; hashing leaves the interpreter free.
    with ThreadPoolExecutor() as pool:
        found = list(pool.map(sha256, files))
    names = (str(file.relative_to(root)) for file in files)
    return dict(zip(names, found, strict=True))


def intact(root: Path, outputs: Iterable[Path], recorded: Mapping[str, str]) -> bool:
    """Whether outputs hold exactly the files that were recorded, byte for byte."""
    try:
        return bool(recorded) and digests(root, outputs) == recorded
    except OSError:
        return False


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.is_file())
    return [path]


def flush(directory: Path) -> None:
    """Wait until the file system of a directory has written all that it was given.

    Raises:
        OSError: It failed.
    """
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if ctypes.CDLL(None, use_errno=True).syncfs(descriptor) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(directory))
    finally:
        os.close(descriptor)
