"""Directories for builds that are compared, and what is left of them after a kill."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_build.cache import locked

if TYPE_CHECKING:
    from collections.abc import Iterator

# A file system in memory lists a directory in the order that its files were made in, newest
# first; ext4 and XFS go by hashes of the names.
MEMORY = Path("/dev/shm")  # noqa: S108 - a place of the kernel's own

_PREFIX = "dsv4-doctor-"

# Bytes in memory that a work directory may need: the sources of CUTLASS and of the tree, objects.
_ROOM = 8 << 30


@contextmanager
def temporary(above: Path) -> Iterator[Path]:
    """Return a directory that is gone afterwards, and that nobody else removes meanwhile.

    Raises:
        OSError: It cannot be made.
    """
    above.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=above))
    with locked(lock_of(place)):
        try:
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)
            lock_of(place).unlink(missing_ok=True)


def lock_of(place: Path) -> Path:
    """Return the file that whoever uses such a directory holds."""
    return place.with_name(f".{place.name}.lock")


def disk(cache: Path) -> Path:
    """Return where they are on the disk."""
    return cache / "reproduce"


def far(cache: Path) -> Path:
    """Return another place on the disk, with a longer path."""
    return disk(cache) / "at" / "quite" / "another" / "place"


def differing(cache: Path) -> Path:
    """Return where results that differ are kept."""
    return disk(cache) / f"{_PREFIX}differing"


def left(cache: Path, memory: Path = MEMORY) -> Iterator[Path]:
    """Return the directories that are there."""
    for above in (disk(cache), far(cache), memory):
        yield from (each for each in above.glob(f"{_PREFIX}*") if each.is_dir())


def roomy(memory: Path = MEMORY) -> bool:
    """Whether a work directory can be in memory."""
    try:
        return os.access(memory, os.W_OK) and shutil.disk_usage(memory).free >= _ROOM
    except OSError:
        return False
