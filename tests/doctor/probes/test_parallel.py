"""Calls side by side: order of results, errors, and that they do run at the same time."""

from __future__ import annotations

import threading
from functools import partial

import pytest

from dsv4_doctor.probes.parallel import both, gather


def test_results_are_in_the_order_of_the_calls() -> None:
    assert gather([partial(int, str(number)) for number in range(20)]) == list(range(20))


def test_no_calls() -> None:
    assert gather([]) == []


def test_the_calls_run_at_the_same_time() -> None:
    barrier = threading.Barrier(3)
    # Each call waits for the two others: one after the other they would never end.
    gather([partial(barrier.wait, 10.0)] * 3)


def test_the_first_error_is_raised_after_all_have_ended() -> None:
    ended: list[int] = []

    def fail(number: int) -> None:
        ended.append(number)
        msg = f"call {number}"
        raise ValueError(msg)

    with pytest.raises(ValueError, match="call 0"):
        gather([partial(fail, number) for number in range(4)])
    assert sorted(ended) == [0, 1, 2, 3]


def test_two_calls_of_different_kinds() -> None:
    number, text = both(lambda: 1, lambda: "a")
    assert (number, text) == (1, "a")
