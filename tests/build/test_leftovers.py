from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from dsv4_build import leftovers


def _start(work: Path) -> subprocess.Popen[bytes]:
    """Start a program of a build that has begun when this returns."""
    code = "print(flush=True); import time; time.sleep(600)"
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, leftovers.MARK: str(work)},
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    child.stdout.readline()
    return child


def test_only_programs_of_this_directory_are_ended(tmp_path: Path) -> None:
    mine, other = _start(tmp_path / "work"), _start(tmp_path / "work-2")
    try:
        assert leftovers.running(tmp_path / "work") == [mine.pid]
        # Nobody waits for it here: a zombie has no environment and counts as gone.
        assert leftovers.end(tmp_path / "work") == 1
        assert leftovers.running(tmp_path / "work") == []
        assert other.poll() is None
        assert mine.wait(10) < 0
    finally:
        for child in (mine, other):
            child.kill()
            child.communicate()


def test_a_server_of_a_cache_lives_on(tmp_path: Path) -> None:
    for number, name in (("1", "sccache"), ("2", "cicc"), ("self", "cicc")):
        (tmp_path / number).mkdir()
        (tmp_path / number / "environ").write_bytes(b"A=1\0" + f"{leftovers.MARK}=/w".encode())
        (tmp_path / number / "comm").write_text(f"{name}\n")
    (tmp_path / "3").mkdir()  # One that has just ended.
    assert leftovers.running(Path("/w"), tmp_path) == [2]
