from __future__ import annotations

import errno
import os
import signal
import sys
import time
from io import FileIO
from pathlib import Path
from typing import Any

import pytest

from dsv4_build import process
from dsv4_build.failure import explained
from dsv4_build.process import ChildFailedError, Job, run_logged
from dsv4_doctor.errors import BuildError


def _python(code: str, tmp_path: Path, limit: float | None = None) -> Job:
    argv = [sys.executable, "-u", "-c", code]
    return Job(argv, os.environ, tmp_path / "log", limit=limit)


def test_lines_go_to_the_log_and_to_the_caller(tmp_path: Path) -> None:
    lines: list[str] = []
    job = _python("import sys; print('one'); print('two', file=sys.stderr, end='')", tmp_path)
    usage = run_logged(job, lines.append)
    assert lines == ["one", "two"]
    content = (tmp_path / "log").read_text()
    assert content.startswith(f"$ {sys.executable}")
    assert content.endswith("one\ntwo")
    assert usage.cpu_seconds > 0
    assert usage.peak_memory > 1 << 20


def test_a_failure_tells_status_log_and_last_lines(tmp_path: Path) -> None:
    job = _python("print('the reason'); raise SystemExit(3)", tmp_path)
    with pytest.raises(ChildFailedError) as caught:
        run_logged(job)
    assert "exit status 3" in str(caught.value)
    assert str(tmp_path / "log") in str(caught.value)
    assert caught.value.lines[-1] == "the reason"


def test_causes_are_shown_rather_than_their_consequences(tmp_path: Path) -> None:
    code = (
        "print('a.cu(3): error: expected a ;')\n"
        "for number in range(100): print('consequence', number)\n"
        "raise SystemExit(1)"
    )
    with pytest.raises(ChildFailedError) as caught:
        run_logged(_python(code, tmp_path))
    assert "a.cu(3): error: expected a ;" in str(caught.value)
    assert "consequence" not in str(caught.value)


@pytest.mark.parametrize(
    ("code", "way_out"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "fewer --jobs"),
        ("raise SystemExit('fatal: unable to access https://x: no route')", "--git-mirror"),
        ("raise SystemExit('x.cu:1: fatal error: Python.h: No such file')", "python3-dev"),
        ("raise SystemExit('CMake Error: Could NOT find CUDA')", "--toolchain pypi"),
        ("raise SystemExit('something else')", ""),
    ],
)
def test_causes_that_have_a_way_out(tmp_path: Path, code: str, way_out: str) -> None:
    with pytest.raises(ChildFailedError) as caught:
        run_logged(_python(code, tmp_path))
    error = explained(caught.value)
    assert str(error) == str(caught.value)
    assert way_out in error.hint
    assert bool(way_out) is bool(error.hint)


def test_the_first_cause_is_far_above_the_end_of_the_log(tmp_path: Path) -> None:
    code = (
        "print('host_config.h:143:2: error: #error -- unsupported GNU version! gcc versions later '"
        "'than 13 are not supported!')\n"
        "for number in range(5000): print('[%d/5000] Building CXX object' % number)\n"
        "raise SystemExit('ninja: build stopped: subcommand failed.')"
    )
    with pytest.raises(ChildFailedError) as caught:
        run_logged(_python(code, tmp_path))
    hint = explained(caught.value).hint
    assert "newer than nvcc accepts (line" in hint
    assert "g++-13" in hint
    assert "--show host.compiler.too-new" in hint


def test_a_log_that_is_gone_leaves_the_last_lines(tmp_path: Path) -> None:
    with pytest.raises(ChildFailedError) as caught:
        run_logged(_python("raise SystemExit('CMake Error: Could NOT find CUDA')", tmp_path))
    (tmp_path / "log").unlink()
    assert "--toolchain pypi" in explained(caught.value).hint


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    job = Job([str(tmp_path / "absent")], os.environ, tmp_path / "log")
    with pytest.raises(ChildFailedError, match="absent: No such file"):
        run_logged(job)


def test_the_limit_ends_the_whole_group(tmp_path: Path) -> None:
    code = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print(child.pid)\n"
        "time.sleep(600)"
    )
    pids: list[str] = []
    with pytest.raises(ChildFailedError, match=r"not finished within 0\.5 s"):
        run_logged(_python(code, tmp_path, limit=0.5), pids.append)
    assert pids
    assert _is_gone(int(pids[0]))


def test_ctrl_c_kills_the_child(tmp_path: Path) -> None:
    def interrupt(line: str) -> None:
        pids.append(int(line))
        signal.raise_signal(signal.SIGINT)

    pids: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        run_logged(
            _python("import os, time; print(os.getpid()); time.sleep(600)", tmp_path), interrupt
        )
    assert _is_gone(pids[0])


def test_a_daemon_that_keeps_the_pipe_is_not_waited_for(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(30)'])\n"
        "print(child.pid)"
    )
    pids: list[str] = []
    usage = run_logged(_python(code, tmp_path), pids.append)
    os.kill(int(pids[0]), signal.SIGKILL)
    assert usage.seconds < 25


def test_files_of_a_build_do_not_depend_on_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        run_logged(_python(f"open({str(tmp_path / 'made')!r}, 'w')", tmp_path))
    finally:
        os.umask(before)
    assert (tmp_path / "made").stat().st_mode & 0o777 == 0o644


def _is_gone(pid: int) -> bool:
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


class _Full(FileIO):
    """A file on a disk that has room for some bytes more."""

    room = 2000

    def write(self, data: Any, /) -> int:
        if _Full.room <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        part = bytes(data)[: _Full.room]
        _Full.room -= len(part)
        return super().write(part)


def test_a_log_that_a_full_disk_does_not_take_ends_the_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "FileIO", _Full)
    job = _python("import time; print('x' * 5000); time.sleep(600)", tmp_path)
    started = time.monotonic()
    with pytest.raises(BuildError, match="No space left"):
        run_logged(job)
    assert time.monotonic() - started < 300
    assert (tmp_path / "log").stat().st_size == 2000


def test_a_log_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    job = Job(["true"], os.environ, tmp_path / "file" / "log")
    with pytest.raises(BuildError, match="cannot be written"):
        run_logged(job)
