"""Fetching pinned wheels into a directory, with pip or with uv, whichever is there."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

from dsv4_build import installers
from dsv4_build.process import ChildFailedError, Job, run_logged
from dsv4_doctor.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

# An hour for 2 GB is 0.6 MB/s: slower than this it will not end within a day's patience anyway.
LIMIT = 3600.0

_NAMES_PART = re.compile(
    r"(?:satisfies the requirement|distribution found for|install|Collecting|Downloading|"
    r"no versions? of)\s+(nvidia[-_][\w.-]+(?:==[\w.]+)?)"
)
_HASHES_DIFFER = "DO NOT MATCH THE HASHES"


def install(
    requirements: Path,
    target: Path,
    log: Path,
    on_line: Callable[[str], None] | None = None,
) -> None:
    """Install a requirements file with hashes into ``target``, from the user's own package index.

    Raises:
        BuildError: No installer, or it failed; the message names the part and the way out.
    """
    argv = installer(target, requirements)
    try:
        run_logged(Job(argv, os.environ, log, limit=LIMIT), on_line)
    except ChildFailedError as error:
        raise _explained(error, requirements, log) from error


def installer(target: Path, requirements: Path) -> list[str]:
    """Return the command that installs ``requirements`` into ``target``.

    Raises:
        BuildError: Neither pip nor uv is there.
    """
    pinned = ["--no-deps", "--only-binary", ":all:", "--require-hashes"]
    return installers.install(
        sys.executable,
        [*pinned, "--target", str(target), "-r", str(requirements)],
        otherwise="nothing can fetch the toolkit",
    )


def guilty_part(lines: Sequence[str]) -> str | None:
    """Return the part that the installer stumbled over, from the last lines that it printed."""
    for line in reversed(lines):
        match = _NAMES_PART.search(line)
        if match is not None:
            return match[1]
    return None


def _explained(error: ChildFailedError, requirements: Path, log: Path) -> BuildError:
    part = guilty_part(error.lines)
    what = f"the toolkit part {part}" if part else "a part of the toolkit"
    if any(_HASHES_DIFFER in line for line in error.lines):
        msg = f"{what} that was downloaded is not the pinned one: its hash differs (see {log})"
        return BuildError(
            msg, hint="something between here and the package index changed the file; do not use it"
        )
    msg = f"{what} could not be installed:\n" + "\n".join(f"  {line}" for line in error.lines[-4:])
    copy = requirements.name
    hint = (
        f"without a network: on a connected machine, dsv4-doctor toolchain --requirements > {copy} "
        f"and pip download --no-deps -d DIR -r {copy}; then here PIP_FIND_LINKS=DIR PIP_NO_INDEX=1 "
        "(for uv: UV_FIND_LINKS=DIR UV_OFFLINE=1). The log is in " + str(log)
    )
    return BuildError(msg, hint=hint)
