"""Child processes: limits, locale, bounded output, and errors that name the program."""

from __future__ import annotations

import os
import select
import sys
from typing import TYPE_CHECKING

import pytest

from dsv4_doctor import process

if TYPE_CHECKING:
    from pathlib import Path


def sh(text: str, *, limit: float = 10.0) -> process.Completed:
    return process.run(["/bin/sh", "-c", text], limit=limit)


def read_to_end(descriptor: int) -> bytes:
    """Read until every writer has closed; an open one after ten seconds fails the test."""
    data = b""
    while select.select([descriptor], [], [], 10.0)[0]:
        chunk = os.read(descriptor, 1024)
        if not chunk:
            return data
        data += chunk
    pytest.fail("a process that should have been killed still holds the pipe")


def test_returns_what_the_child_printed_and_its_status() -> None:
    done = sh("echo out; echo err >&2; exit 3")
    assert (done.stdout, done.stderr, done.returncode) == ("out\n", "err\n", 3)
    assert not done.ok


def test_a_signal_is_a_negative_status() -> None:
    assert sh("kill -9 $$").returncode == -9


def test_the_child_runs_in_the_c_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("LANGUAGE", "de")
    assert sh('echo "$LC_ALL ${LANGUAGE-unset}"').stdout == "C unset\n"


def test_variables_are_added_to_the_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FROM_CALLER", "1")
    done = process.run(["/bin/sh", "-c", 'echo "$FROM_CALLER$ADDED"'], env={"ADDED": "2"})
    assert done.stdout == "12\n"


def test_the_child_has_no_input() -> None:
    assert sh("cat").stdout == ""


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert sh(r"printf 'a\377b'").stdout == "a\N{REPLACEMENT CHARACTER}b"


def test_a_missing_program_is_named() -> None:
    with pytest.raises(process.ProcessError, match=r"/no/such/nvcc: No such file"):
        process.run(["/no/such/nvcc", "--version"])


def test_a_file_that_is_not_executable_is_named(tmp_path: Path) -> None:
    program = tmp_path / "nvcc"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o644)
    with pytest.raises(process.ProcessError, match=r"nvcc: Permission denied"):
        process.run([str(program)])


def test_a_file_that_is_no_program_is_named(tmp_path: Path) -> None:
    program = tmp_path / "nvcc"
    program.write_bytes(b"\0\0\0\0")
    program.chmod(0o755)
    with pytest.raises(process.ProcessError, match=r"nvcc: Exec format error"):
        process.run([str(program)])


def test_an_argument_with_a_null_byte_is_refused() -> None:
    with pytest.raises(process.ProcessError, match=r"/bin/sh: embedded null byte"):
        process.run(["/bin/sh", "a\0b"])


def test_over_the_limit_the_program_is_named_with_the_limit() -> None:
    with pytest.raises(process.ProcessError, match=r"/bin/sh: no answer within 0.1 s"):
        sh("sleep 60", limit=0.1)


def test_a_child_that_closed_its_streams_is_still_under_the_limit() -> None:
    with pytest.raises(process.ProcessError, match="no answer within"):
        sh("exec >&- 2>&-; sleep 60", limit=0.2)


def test_a_grandchild_is_killed_with_the_child(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(process.ProcessError, match="no answer within"):
            sh(f"(echo started; sleep 60) > {pipe} & wait", limit=1.0)
        assert read_to_end(reader) == b"started\n"
    finally:
        os.close(reader)


def test_output_beyond_the_bound_is_drained_and_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MAX_OUTPUT", 1000)
    text = "import sys; sys.stdout.write('x' * 2000000); sys.stderr.write('e' * 999)"
    done = process.run([sys.executable, "-c", text], limit=30.0)
    assert done.ok
    assert done.stdout == "x" * 1000
    assert done.stderr == "e" * 999


def test_endless_output_ends_at_the_limit() -> None:
    with pytest.raises(process.ProcessError, match="no answer within"):
        sh("while :; do echo yes; done", limit=0.3)
