from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_build.schedule import killed


@pytest.mark.parametrize(
    ("status", "output"),
    [
        # nvcc 13.0.88, whose shell says it; then gcc 12.2 alone and below nvcc.
        (137, "warning: something\nKilled\n"),
        (1, "g++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated."),
        (1, "gcc: fatal error: Killed signal terminated program cc1plus\n"),
        (1, "nvcc error   : 'cicc' died due to signal 9 (Kill signal)\n"),
        (9, "nvcc error   : 'cudafe++' died due to signal 9 (Kill signal)\n"),
        (254, "clang++: error: unable to execute command: Killed\n"),
        (4, "g++: internal compiler error: Killed (program cc1plus)\n"),
        (137, ""),
    ],
)
def test_a_killed_compiler_is_told(status: int, output: str) -> None:
    assert killed.how(status, output)


@pytest.mark.parametrize(
    ("status", "output"),
    [
        (0, "Killed\n"),
        (1, "a.cu(3): error: identifier Killed is undefined\n"),
        (2, "ptxas fatal   : Unresolved extern function 'signal9'\n"),
        (139, "nvcc error   : 'cicc' died due to signal 11 (Invalid memory reference)\n"),
        (143, "Terminated\n"),
    ],
)
def test_an_error_of_its_own_is_no_kill(status: int, output: str) -> None:
    assert killed.how(status, output) is None


@given(st.integers(0, 255), st.text())
def test_any_output_is_judged(status: int, output: str) -> None:
    how = killed.how(status, output)
    assert how is None or (how and status)
