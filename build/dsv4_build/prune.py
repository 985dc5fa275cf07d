"""Removing what earlier builds left in the cache, and saying how much that is."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsv4_build.cache import locked
from dsv4_build.reproduce import scratch
from dsv4_build.view import ROOT
from dsv4_build.work import JOURNAL, lock_of, remove
from dsv4_doctor.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SCHEMA = "dsv4-doctor/pruned/1"

_MIB = 1 << 20
_GIB = 1 << 30

# Bytes from which on it is worth a line that earlier builds take them.
_MUCH = _GIB


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


@dataclass(frozen=True)
class Places:
    """Where builds leave something.

    Attributes:
        cache: The user's cache directory.
        shared: The place of builds that have no mount namespace.
        memory: A file system in memory, for builds that are compared.
    """

    cache: Path
    shared: Path = ROOT
    memory: Path = scratch.MEMORY


def prune(places: Places) -> Pruned:
    """Remove everything that builds left and that none uses."""
    works = [_prune(each, lock_of(each), remove) for each in directories(places)]
    left = [
        _prune(each, scratch.lock_of(each), shutil.rmtree)
        for each in sorted(scratch.left(places.cache, places.memory))
        if _is_own(each)
    ]
    return Pruned((*works, *left))


def directories(places: Places) -> Iterator[Path]:
    """Return the work directories of a cache, and this user's own in a shared place."""
    found = [
        *(places.cache / "work").glob("*"),
        places.shared / "work",
        *(places.shared / "parked").glob("*"),
    ]
    for place in sorted(found):
        if (place / JOURNAL).is_file() and _is_own(place):
            yield place


def others(places: Places, mine: Path) -> str:
    """Return what the work of earlier builds takes, as a sentence; empty when that is little."""
    sizes = [size(each) for each in directories(places) if each != mine]
    if sum(sizes) < _MUCH:
        return ""
    taken = f"{len(sizes)} earlier builds take {sum(sizes) / _GIB:.1f} GiB"
    return f"{taken}; dsv4-doctor build --prune removes their work"


def _is_own(place: Path) -> bool:
    return not place.is_symlink() and place.stat().st_uid == os.geteuid()


def size(directory: Path) -> int:
    """Return the bytes that a directory takes on the disk; what vanishes meanwhile takes none."""
    total = 0
    for parent, _, names in os.walk(directory):
        for name in names:
            with suppress(OSError):
                total += (Path(parent) / name).lstat().st_blocks * 512
    return total


def _prune(directory: Path, lock: Path, delete: Callable[[Path], object]) -> Found:
    taken = size(directory)
    try:
        with locked(lock):
            delete(directory)
            lock.unlink(missing_ok=True)
    except (BuildError, OSError) as error:
        return Found(str(directory), taken, str(error))
    return Found(str(directory), taken)
