"""The shell scripts of the project: what makes one fail at random."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted(
    path
    for directory in (".ci", "scripts", "ansible/examples", "docker")
    for path in (ROOT / directory).rglob("*")
    if path.is_file() and path.read_bytes()[:64].startswith((b"#!/usr/bin/env bash", b"#!/bin/"))
)

# A reader that leaves before its writer has finished: the writer dies of SIGPIPE, and under
# pipefail that is how the whole pipe ends, depending on which of them was faster.
LEAVES_EARLY = re.compile(r"\|\s*(?:grep\s+(?:-\w*[qm]|--quiet|--max-count)|head\b|sed\s+\S*q\b)")


def test_there_are_scripts() -> None:
    assert {"run", "test", "quickstart", "test_collection"} <= {path.name for path in SCRIPTS}


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_a_script_stops_at_the_first_error(path: Path) -> None:
    if path.read_text(encoding="utf-8").startswith("#!/usr/bin/env bash"):
        assert re.search(r"^set -\w*e\w*", path.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_no_pipe_has_a_reader_that_leaves_early(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if "pipefail" in text:
        assert LEAVES_EARLY.search(text) is None


@pytest.mark.parametrize(
    "line", ["a | grep -q x", "a | head -1", "a |grep -m1 x", "a | grep --quiet x", "a | sed 1q"]
)
def test_such_readers_are_known(line: str) -> None:
    assert LEAVES_EARLY.search(line)
