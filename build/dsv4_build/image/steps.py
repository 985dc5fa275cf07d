"""The steps of the Dockerfile in a reader's words."""

from __future__ import annotations

import re

WHEEL = "wheel.sh"
_STEPS = (
    (WHEEL, "the wheel"),
    ("packages.sh", "what the wheel needs"),
    ("system.sh", "system packages"),
    ("doctor.sh", "the doctor and the entry point"),
    ("/usr/local", "the toolkit"),
)
# As buildah and BuildKit announce one.
_BEGINS = re.compile(r"^(?:\[\d+/\d+\] )?STEP \d+/\d+: (?:RUN|COPY)|^#\d+ \[")


def made(created_by: str) -> str:
    """Return what a layer holds, from what the history says of it."""
    return next((words for mark, words in _STEPS if mark in created_by), "the base")


def begun(line: str) -> str:
    """Return which step a line of an engine's output announces, empty for none."""
    if not _BEGINS.match(line):
        return ""
    return next((words for mark, words in _STEPS if mark in line), "")
