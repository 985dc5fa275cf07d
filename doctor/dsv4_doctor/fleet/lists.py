"""Lists of healthy and sick hosts in the forms that schedulers read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dsv4_doctor.errors import InputError
from dsv4_doctor.files import write_atomically
from dsv4_doctor.fleet.hostlist import fold

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dsv4_doctor.fleet.model import Fleet

# RFC 1123 names and addresses; anything else could be an option or a pattern where it is read.
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._:-]*[A-Za-z0-9])?")


def write_lists(fleet: Fleet, directory: Path) -> list[Path]:
    """Write the lists and return their paths.

    ``healthy.limit`` and ``sick.limit`` have a name a line, for ``ansible-playbook --limit @FILE``;
    ``.nodelist`` has Slurm's form for ``srun --nodelist`` and ``--exclude``; ``.nodes`` has the
    names as arguments, for ``xargs kubectl cordon``.

    Raises:
        InputError: The directory cannot be written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"{directory}: {error.strerror or error}"
        raise InputError(msg) from error
    written: list[Path] = []
    for kind, names in (("healthy", fleet.healthy), ("sick", fleet.sick)):
        safe = [name for name in names if _NAME.fullmatch(name)]
        for suffix, text in _forms(safe):
            path = directory / f"{kind}.{suffix}"
            write_atomically(path, text.encode())
            written.append(path)
    return written


def unsafe(fleet: Fleet) -> tuple[str, ...]:
    """Return the hosts that no list names, because their name is not one a scheduler can have."""
    return tuple(name for name in (*fleet.healthy, *fleet.sick) if not _NAME.fullmatch(name))


def _forms(names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    lines = "".join(f"{name}\n" for name in names)
    return (
        ("limit", lines),
        ("nodelist", f"{fold(names)}\n" if names else ""),
        ("nodes", f"{' '.join(names)}\n" if names else ""),
    )
