"""What diffoscope says of two files, where it is installed."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from dsv4_doctor.process import ProcessError, run

if TYPE_CHECKING:
    from pathlib import Path

# Seconds: it disassembles, and a wheel has hundreds of megabytes.
_LIMIT = 600.0

# Characters of its report that are of use to somebody who reads.
_SIZE = 20_000


def diffoscope(first: Path, second: Path) -> str:
    """Return its report, cut where it gets long; empty without diffoscope."""
    program = shutil.which("diffoscope")
    if program is None:
        return ""
    argv = [program, "--text", "-", "--max-text-report-size", str(_SIZE), str(first), str(second)]
    try:
        done = run(argv, limit=_LIMIT)
    except ProcessError as error:
        return str(error)
    # 0 is for no difference, 1 for one; all else is its own trouble.
    return done.stdout[:_SIZE] if done.returncode in {0, 1} else done.stderr.strip()
