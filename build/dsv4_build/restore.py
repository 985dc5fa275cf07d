"""Bringing a copy of a source tree that was built in back to what its source says."""

from __future__ import annotations

import filecmp
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Iterator


def restore(wanted: Path, tree: Path) -> tuple[str, ...]:
    """Make every file of ``wanted`` in ``tree`` what it is there, and return which were not.

    What ``tree`` has besides stays: a build writes among its sources. A file that is restored is
    newer than whatever was made from it before, so that ninja makes that again.

    Raises:
        BuildError: It cannot be written.
    """
    changed = []
    try:
        for relative in _files(wanted):
            if not _alike(wanted / relative, tree / relative):
                _replace(wanted, tree, relative)
                changed.append(str(relative))
    except OSError as error:
        msg = f"{tree}: cannot be restored: {error}"
        raise BuildError(msg) from error
    return tuple(changed)


def _files(directory: Path) -> Iterator[Path]:
    for parent, directories, names in os.walk(directory):
        here = Path(parent)
        links = [each for each in directories if (here / each).is_symlink()]
        yield from ((here / name).relative_to(directory) for name in sorted([*names, *links]))


def _alike(wanted: Path, found: Path) -> bool:
    if wanted.is_symlink() or found.is_symlink():
        both = wanted.is_symlink() and found.is_symlink()
        return both and wanted.readlink() == found.readlink()
    return (
        found.is_file()
        and found.stat().st_mode == wanted.stat().st_mode
        and filecmp.cmp(wanted, found, shallow=False)
    )


def _replace(wanted: Path, tree: Path, relative: Path) -> None:
    for place in (tree / each for each in (relative, *relative.parents[:-1])):
        if place.is_symlink() or place.is_file():
            place.unlink()
    source, target = wanted / relative, tree / relative
    if target.is_dir():
        shutil.rmtree(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_symlink():
        target.symlink_to(source.readlink())
    else:
        shutil.copyfile(source, target)
        target.chmod(source.stat().st_mode)
