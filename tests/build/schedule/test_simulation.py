from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dsv4_build.schedule.curve import BINS, Curve
from dsv4_build.schedule.outlook import Expectation
from dsv4_build.schedule.simulation import (
    Machine,
    Truth,
    best_static,
    bound,
    deviating,
    simulate,
    static,
)

GIB = 1 << 30


def _ramp(top: int) -> Curve:
    """Return memory that rises to a peak and falls at once, as cicc's does."""
    rising = tuple((index + 1) / (top + 1) for index in range(top + 1))
    return Curve((*rising, *(0.1,) * (BINS - top - 1)))


_UNITS = st.lists(
    st.builds(
        Expectation,
        st.floats(40, 200),
        st.integers(GIB // 2, 6 * GIB),
        st.just(0.1),
        st.integers(6, 20).map(_ramp),
    ),
    min_size=1,
    max_size=14,
)


def _truths(units: list[Expectation], seed: int, noise: float) -> list[Truth]:
    rng = random.Random(seed)
    return [deviating(unit, rng, noise) for unit in units]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_UNITS, st.integers(0, 1 << 20), st.integers(1, 16), st.integers(8, 32), st.integers(0, 3))
def test_all_units_end_within_the_limit_however_they_deviate(
    units: list[Expectation], seed: int, cores: int, gib: int, noise: int
) -> None:
    truths = _truths(units, seed, noise / 10)
    machine = Machine(cores, gib * GIB, cores + 8)
    outcome = simulate(truths, machine)
    assert outcome.over == 0
    assert outcome.peak <= machine.memory
    assert outcome.seconds >= bound(truths, cores) - 1
    assert outcome.busy >= sum(unit.seconds for unit in truths) - 1


def test_with_memory_enough_nothing_is_held_back() -> None:
    units = [Expectation(30.0 + n, GIB, 0.1, _ramp(10)) for n in range(40)]
    truths = _truths(units, 1, 0.1)
    outcome = simulate(truths, Machine(8, 512 * GIB, 64))
    assert outcome.paused == outcome.evicted == 0
    assert outcome.seconds <= 1.15 * bound(truths, 8)


def test_short_of_memory_it_beats_the_best_fixed_number_of_jobs() -> None:
    units = [Expectation(100.0, 5 * GIB, 0.1, _ramp(10)) for _ in range(40)]
    truths, machine = _truths(units, 3, 0.2), Machine(16, 24 * GIB, 40)
    fixed = best_static(truths, machine)
    assert fixed is not None
    assert fixed[0] < machine.cores
    outcome = simulate(truths, machine)
    assert outcome.over == 0
    assert outcome.seconds < fixed[1].seconds


def test_units_in_step_do_not_all_stand_still() -> None:
    # All grow at once, as exactly as expected: chance does not spread their peaks.
    units = [Expectation(100.0, 4 * GIB, 0.05, _ramp(14)) for _ in range(100)]
    truths, machine = _truths(units, 1, 0.0), Machine(48, 110 * GIB, 100)
    fixed = best_static(truths, machine)
    assert fixed is not None
    outcome = simulate(truths, machine)
    assert outcome.over == 0
    assert outcome.seconds < 0.85 * fixed[1].seconds


def test_a_unit_larger_than_the_machine_is_tried_and_counted() -> None:
    truth = Truth(Expectation(10, 9 * GIB, 0.1, _ramp(10)), 10, 9 * GIB, _ramp(10))
    machine = Machine(2, 4 * GIB, 4)
    assert static([truth], machine, 1).over == 1
    assert best_static([truth], machine) is None
    with pytest.raises(ValueError, match="larger than the machine"):
        simulate([truth], machine)


def test_jobs_are_an_upper_bound() -> None:
    units = [Expectation(50.0, GIB, 0.1, _ramp(10)) for _ in range(8)]
    truths = _truths(units, 1, 0.0)
    alone = simulate(truths, Machine(8, 64 * GIB, 16), jobs=1)
    assert alone.seconds >= sum(unit.seconds for unit in truths)


def test_nothing_to_do_takes_no_time() -> None:
    assert simulate([], Machine(8, GIB, 16)).seconds == 0
    assert bound([], 8) == 0
