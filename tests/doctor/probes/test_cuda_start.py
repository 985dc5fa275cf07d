"""Starting CUDA in a child: codes, counts, missing libraries, crashes and hangs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_doctor.facts.driver import CudaStart
from dsv4_doctor.probes import cuda_start


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
