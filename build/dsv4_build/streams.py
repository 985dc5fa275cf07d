"""The door for children that read a file and write a file, of any size and any bytes."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from dsv4_doctor.errors import BuildError
from dsv4_doctor.process import clean_environment, kill_group

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# Bytes of a failed child's own words that are repeated.
_WORDS = 2000


def run_on_files(argv: Sequence[str], given: Path, taken: Path, *, limit: float) -> None:
    """Run a program whose input is a file and whose output becomes one.

    Args:
        given: What it reads from standard input.
        taken: What its standard output is written to.
        limit: Seconds until it is killed with all that it started.

    Raises:
        BuildError: Not started, over the limit, or ended with an error.
    """
    words = taken.with_name(f"{taken.name}.stderr")
    with given.open("rb") as source, taken.open("wb") as target, words.open("wb") as errors:
        try:
            child = subprocess.Popen(
                list(argv),
                stdin=source,
                stdout=target,
                stderr=errors,
                env=clean_environment(),
                start_new_session=True,
            )
        except OSError as error:
            msg = f"{argv[0]}: {error.strerror or error}"
            raise BuildError(msg) from error
        try:
            child.wait(limit)
        except subprocess.TimeoutExpired as error:
            msg = f"{argv[0]}: not finished within {limit:g} s"
            raise BuildError(msg) from error
        finally:
            if child.poll() is None:
                kill_group(child)
    if child.returncode != 0:
        said = words.read_text(encoding="utf-8", errors="replace")[-_WORDS:].strip()
        msg = f"{argv[0]} failed with exit status {child.returncode}: {said}"
        raise BuildError(msg)
    words.unlink()
