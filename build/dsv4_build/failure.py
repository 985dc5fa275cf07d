"""The way out of failures of a build that name their own cause."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dsv4_doctor.errors import BuildError

if TYPE_CHECKING:
    from dsv4_build.process import ChildFailedError

_WAYS_OUT = (
    (
        re.compile(r"unable to access|Could not resolve host|fatal: repository|Failed to clone"),
        "git could not fetch an external project: --git-mirror DIR has it as DIR/OWNER/NAME.git",
    ),
    (
        re.compile(r"\bKilled\b|signal 9|Cannot allocate memory|out of memory"),
        "a process was killed, which is usually memory: try fewer --jobs",
    ),
    (
        re.compile(r"Python\.h: No such file|Could NOT find Python "),
        "Python's headers are missing: apt-get install python3-dev",
    ),
    (
        re.compile(r"Could NOT find CUDA|CUDA::\w+.*target was not found"),
        "the CUDA toolkit is incomplete: --toolchain pypi assembles a complete one",
    ),
    (
        re.compile(r"Machete generation failed"),
        "usually an incomplete CUTLASS tree: its python/ and tools/ are needed, too",
    ),
)


def explained(error: ChildFailedError) -> BuildError:
    """Return the error with a way out, when its output names a cause that has one."""
    text = "\n".join((*error.lines, str(error).partition("\n")[0]))
    hint = next((hint for pattern, hint in _WAYS_OUT if pattern.search(text)), "")
    return BuildError(str(error), hint=hint)
