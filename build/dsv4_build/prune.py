"""Removing what earlier builds left in the cache, and saying how much that is."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsv4_build.cache import locked
from dsv4_build.view import ROOT
from dsv4_build.work import JOURNAL, lock_of, remove
from dsv4_doctor.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA = "dsv4-doctor/pruned/1"

_MIB = 1 << 20


@dataclass(frozen=True)
class Found:
    """A work directory.

    Attributes:
        size: Bytes that it takes on the disk.
        kept: Why it is still there; empty when it was removed.
    """

    path: str
    size: int
    kept: str = ""


@dataclass(frozen=True)
class Pruned:
    """What was found below a cache directory and what became of it."""

    found: tuple[Found, ...]

    @property
    def freed(self) -> int:
        """Bytes that were taken by what is removed."""
        return sum(each.size for each in self.found if not each.kept)

    def to_json(self) -> dict[str, Any]:
        """Return it in the schema ``dsv4-doctor/pruned/1``."""
        found = [asdict(each) for each in self.found]
        return {"schema": SCHEMA, "freed": self.freed, "found": found}

    def to_text(self) -> str:
        """Return it as lines."""
        lines = [
            f"{each.size / _MIB:10.1f} MiB  {each.path}{f'  kept: {each.kept}' * bool(each.kept)}"
            for each in self.found
        ]
        return "".join(f"{line}\n" for line in (*lines, f"{self.freed / _MIB:10.1f} MiB  freed"))


def prune(cache: Path, shared: Path = ROOT) -> Pruned:
    """Remove every work directory that no build uses.

    Args:
        shared: The place of builds that have no mount namespace.
    """
    return Pruned(tuple(_prune(each) for each in directories(cache, shared)))


def directories(cache: Path, shared: Path = ROOT) -> Iterator[Path]:
    """Return the work directories of a cache, and this user's own in a shared place."""
    places = [*(cache / "work").glob("*"), shared / "work", *(shared / "parked").glob("*")]
    for place in sorted(places):
        if (
            (place / JOURNAL).is_file()
            and not place.is_symlink()
            and place.stat().st_uid == os.geteuid()
        ):
            yield place


def size(directory: Path) -> int:
    """Return the bytes that a directory takes on the disk; what vanishes meanwhile takes none."""
    total = 0
    for parent, _, names in os.walk(directory):
        for name in names:
            with suppress(OSError):
                total += (Path(parent) / name).lstat().st_blocks * 512
    return total


def _prune(directory: Path) -> Found:
    taken = size(directory)
    lock = lock_of(directory)
    try:
        with locked(lock):
            remove(directory)
            lock.unlink(missing_ok=True)
    except (BuildError, OSError) as error:
        return Found(str(directory), taken, str(error))
    return Found(str(directory), taken)
