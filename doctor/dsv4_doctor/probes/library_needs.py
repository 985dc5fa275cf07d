"""What the shared objects of all installed packages ask of the C and C++ library."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING

from dsv4_doctor.binary.dynamic import read_dynamic
from dsv4_doctor.binary.linkage import newest_versions, version_key
from dsv4_doctor.binary.source import DiskFile
from dsv4_doctor.errors import InputError
from dsv4_doctor.facts.symbols import LibraryNeeds
from dsv4_doctor.probes import files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

# Within the limit of a probe, after the symbols: 137 objects of an environment with torch and vLLM
# took half a second on a busy machine with two cores.
_SECONDS = 2.5
_SHARED = re.compile(r"\.so(\.\d+)*$")


def survey(
    roots: Iterable[Path], seconds: float = _SECONDS
) -> tuple[tuple[LibraryNeeds, ...], tuple[str, ...]]:
    """Return what each package below the roots asks for, and packages that were not read in time.

    Args:
        roots: Directories that packages are imported from.
        seconds: After which no further package is begun.
    """
    end = time.monotonic() + seconds
    needs, unread = [], []
    for root in roots:
        for name in sorted(files.names(root)):
            if time.monotonic() > end:
                unread.append(name)
                continue
            found = [asked for path in _objects(root / name) if (asked := _of(path))]
            if found:
                needs.append(_newest(name, found))
    return tuple(needs), tuple(unread)


def _objects(place: Path) -> Iterator[Path]:
    if _SHARED.search(place.name) and files.is_file(place):
        yield place
    for directory, _, names in os.walk(place):
        yield from (place / directory / name for name in sorted(names) if _SHARED.search(name))


def _of(path: Path) -> tuple[Path, dict[str, str]] | None:
    """Return the newest version of each family; ``None`` for what asks for none."""
    try:
        with DiskFile(path) as source:
            dynamic = read_dynamic(source, symbols=False)
    except InputError:
        # What is damaged, or no object at all, asks for nothing that could be told.
        return None
    newest = newest_versions(version for _, version in dynamic.versions) if dynamic else {}
    return (path, newest) if newest else None


def _newest(package: str, found: list[tuple[Path, dict[str, str]]]) -> LibraryNeeds:
    def most(family: str) -> str | None:
        numbers = (needs[family] for _, needs in found if family in needs)
        return max(numbers, key=version_key, default=None)

    glibc, glibcxx, cxxabi = most("GLIBC"), most("GLIBCXX"), most("CXXABI")
    # The C++ library is more often too old than the C library.
    decisive = ("GLIBCXX", glibcxx) if glibcxx else ("GLIBC", glibc)
    path = next(path for path, needs in found if needs.get(decisive[0]) == decisive[1])
    return LibraryNeeds(package, str(path), glibc, glibcxx, cxxabi)
