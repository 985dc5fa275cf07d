from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_build.schedule import procfs

_BUSY = (
    "import time; x = bytearray(64 << 20); end = time.time() + 60\nwhile time.time() < end: pass"
)


def _entry(proc: Path, pid: int, parent: int, name: str, *, cpu: int = 0, private: int = 0) -> Path:
    directory = proc / str(pid)
    (directory / "task" / str(pid)).mkdir(parents=True)
    times = f"{cpu} 0 0 0"
    stat = f"{pid} ({name}) S {parent} 1 1 0 -1 0 0 0 0 0 {times} 20 0 1 0 5 0 0\n"
    (directory / "stat").write_text(stat)
    (directory / "statm").write_text(f"{private + 7} {private + 5} 5 1 0 1 0\n")
    return directory


@given(st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    procfs.parse_stat(text)
    procfs.parse_proportional(text)
    assert procfs.parse_private(text) >= 0


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=15))
def test_a_program_may_have_any_name(name: str) -> None:
    process = procfs.parse_stat(f"12 ({name}) R 3 1 1 0 -1 0 0 0 0 0 100 20 3 4 20 0 1 0 5 0 0")
    assert process is not None
    assert (process.pid, process.parent, process.name) == (12, 3, name)
    assert process.cpu_seconds == pytest.approx(127 / os.sysconf("SC_CLK_TCK"))


@pytest.mark.parametrize("listed", [True, False])
def test_a_tree_is_followed_to_its_leaves(tmp_path: Path, listed: bool) -> None:
    for pid, parent in ((10, 1), (11, 10), (12, 11), (13, 1)):
        directory = _entry(tmp_path, pid, parent, f"p{pid}", cpu=pid, private=pid)
        if listed:
            below = {10: "11 ", 11: "12 "}.get(pid, "")
            (directory / "task" / str(pid) / "children").write_text(below)
    use = procfs.use(10, tmp_path)
    assert use.programs == {"p10", "p11", "p12"}
    assert use.memory == (10 + 11 + 12) * os.sysconf("SC_PAGE_SIZE")
    assert use.cpu_seconds == pytest.approx(33 / os.sysconf("SC_CLK_TCK"))


def test_a_process_that_is_gone_uses_nothing(tmp_path: Path) -> None:
    assert procfs.use(4, tmp_path) == procfs.Use(0, 0.0, frozenset())


def test_what_a_child_of_a_child_uses_is_counted() -> None:
    shell = subprocess.Popen(["sh", "-c", f"{sys.executable} -c '{_BUSY}'; true"])
    try:
        for _ in range(400):
            use = procfs.use(shell.pid)
            if use.memory > 64 << 20 and use.cpu_seconds > 0:
                break
            time.sleep(0.05)
        assert use.memory > 64 << 20
        assert use.cpu_seconds > 0
        assert procfs.use(shell.pid, proportional=True).memory > 64 << 20
    finally:
        for process in list(procfs.tree(shell.pid)):
            os.kill(process.pid, 9)
        shell.wait()
