"""Starting CUDA in a child: codes, counts, missing libraries, crashes and hangs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_doctor.facts.driver import CudaStart
from dsv4_doctor.probes import cuda_early, cuda_start

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("output", "status", "expected"),
    [
        ("code 0 devices 8\n", 0, CudaStart(0, 8)),
        ("code 802 devices 0\n", 0, CudaStart(802)),
        ("noise of a library\ncode 100 devices 0\n", 0, CudaStart(100)),
        ("error libcuda.so.1: not there\n", 0, CudaStart(None, error="libcuda.so.1: not there")),
        ("", -11, CudaStart(None, error="the process that asked ended with signal 11")),
        ("", 1, CudaStart(None, error="the process that asked ended with exit status 1")),
    ],
)
def test_answers(output: str, status: int, expected: CudaStart) -> None:
    assert cuda_start.parse(output, status) == expected


@given(st.text(), st.integers(-64, 255))
def test_any_output(output: str, status: int) -> None:
    found = cuda_start.parse(output, status)
    assert (found.code is None) == (found.error is not None)


def test_a_library_that_is_not_there() -> None:
    found = cuda_start.ask("libcuda-of-no-machine.so.1")
    assert found.code is None
    assert "libcuda-of-no-machine.so.1" in (found.error or "")


def test_a_library_that_is_not_cudas() -> None:
    found = cuda_start.ask("libc.so.6")
    assert found.code is None
    assert "cuInit" in (found.error or "")


def test_a_start_that_hangs() -> None:
    found = cuda_start.ask(limit=0.0)
    assert found == CudaStart(None, error="no answer within 0 s")


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["null", "nvidia0"], True),
        (["nvidiactl", "nvidia-uvm", "nvidia-caps"], False),
        (["dxg"], True),
        (["nvhost-gpu"], True),
        (["nvidia"], False),
        ([], False),
    ],
)
def test_device_files_of_a_gpu(names: list[str], expected: bool) -> None:
    assert cuda_early.has_gpu(names) is expected


@pytest.fixture
def gpu(tmp_path: Path) -> str:
    (tmp_path / "nvidia0").touch()
    return str(tmp_path)


def test_nothing_is_begun_without_a_gpu(tmp_path: Path) -> None:
    cuda_early.begin(str(tmp_path))
    assert cuda_early.begun() is None


def test_what_was_begun_answers(gpu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_early, "ASK", "print('code', 802, 'devices', 0)")
    cuda_early.begin(gpu)
    assert cuda_start.ask() == CudaStart(802)
    assert cuda_early.begun() is None


def test_the_end_of_what_has_answered_is_not_waited_for(
    gpu: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In pieces, and after something that a library wrote.
    program = (
        "import os, time\nos.write(1, b'error of another kind\\ncode 80')\ntime.sleep(0.2)\n"
        "os.write(1, b'2 devices 0')\ntime.sleep(0.2)\nos.write(1, b'\\n')\ntime.sleep(60)"
    )
    monkeypatch.setattr(cuda_early, "ASK", program)
    cuda_early.begin(gpu)
    (started,) = cuda_early._begun
    assert cuda_start.ask(limit=30) == CudaStart(802)
    assert not started.ended
    cuda_early._stop(started)
    _, status = os.waitpid(started.process, 0)
    assert os.waitstatus_to_exitcode(status) == -9


def test_what_was_begun_and_crashes(gpu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_early, "ASK", "import os; os.kill(os.getpid(), 9)")
    cuda_early.begin(gpu)
    expected = "the process that asked ended with signal 9"
    assert cuda_start.ask() == CudaStart(None, error=expected)


def test_what_was_begun_and_hangs(gpu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_early, "ASK", "import time; time.sleep(60)")
    cuda_early.begin(gpu)
    assert cuda_start.ask(limit=0.1) == CudaStart(None, error="no answer within 0.1 s")


def test_nobody_asks_and_it_ends(gpu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_early, "ASK", "import time; time.sleep(60)")
    cuda_early.begin(gpu)
    (started,) = cuda_early._begun
    cuda_early._stop(started)
    _, status = os.waitpid(started.process, 0)
    assert os.waitstatus_to_exitcode(status) == -9
    cuda_early._begun.clear()
