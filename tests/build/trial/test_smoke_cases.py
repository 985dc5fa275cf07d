"""The tests of the smoke kernels, on right and on wrong kernels in plain Python."""

from __future__ import annotations

import math

import pytest
from tests.build.trial.kernels import Kernels

from dsv4_build.trial.inside import smoke

CASES = [smoke.paged_attention_v2, smoke.flash_forward, smoke.flash_forward_causal]


@pytest.mark.parametrize("case", CASES)
def test_a_right_kernel_passes(case: object) -> None:
    error, tolerance = case(Kernels())  # type: ignore[operator]
    assert error < tolerance


@pytest.mark.parametrize("case", CASES)
def test_one_that_is_off_by_little_does_not(case: object) -> None:
    error, tolerance = case(Kernels(off=0.005))  # type: ignore[operator]
    assert error > tolerance


@pytest.mark.parametrize("case", CASES)
def test_one_that_gives_no_number_does_not(case: object) -> None:
    error, _ = case(Kernels(off=math.nan))  # type: ignore[operator]
    assert error == math.inf


def test_one_that_forgets_the_mask_does_not() -> None:
    error, tolerance = smoke.flash_forward_causal(Kernels(masked=False))
    assert error > tolerance
