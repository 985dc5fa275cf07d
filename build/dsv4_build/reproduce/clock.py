"""A library that shows programs another time of day."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.process import ProcessError, run

if TYPE_CHECKING:
    from dsv4_build.compilers import HostCompiler

_SOURCE = Path(__file__).with_name("another_time.c")
_LIMIT = 60.0


def compile_clock(compiler: HostCompiler, directory: Path) -> str:
    """Compile the library and return its path; empty where that does not work.

    It is for ``LD_PRELOAD``, with the seconds in ``ANOTHER_TIME``.
    """
    library = directory / "another_time.so"
    argv = [compiler.cc, "-shared", "-fPIC", "-O2", "-o", str(library), str(_SOURCE)]
    try:
        done = run(argv, limit=_LIMIT)
    except ProcessError:
        return ""
    return str(library) if done.ok else ""
