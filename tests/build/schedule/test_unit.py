from __future__ import annotations

from dataclasses import replace

import pytest

from dsv4_build.schedule.costs import expected
from dsv4_build.schedule.curve import FLAT, Curve
from dsv4_build.schedule.outlook import Expectation
from dsv4_build.schedule.procfs import Use
from dsv4_build.schedule.unit import Unit, again, archs_of, object_of


@pytest.mark.parametrize(
    ("argv", "count"),
    [
        ([], 1),
        (["-gencode", "arch=compute_90a,code=sm_90a"], 1),
        (["--generate-code=arch=compute_80,code=[compute_80,sm_80]", "-c"], 1),
        (["-gencode", "arch=compute_90,code=sm_90", "-gencode", "arch=compute_90,code=sm_90"], 1),
        (["-gencode=arch=compute_75,code=sm_75", "-gencode=arch=compute_100f,code=sm_100f"], 2),
    ],
)
def test_architectures_are_counted_once(argv: list[str], count: int) -> None:
    assert archs_of(argv) == count


def test_the_last_output_counts() -> None:
    assert object_of(["nvcc", "-o", "a.o", "-c", "x.cu", "-o", "b.o"]) == "b.o"
    assert object_of(["nvcc", "-c", "-o"]) == ""


def _unit() -> Unit:
    return Unit(1, "CMakeFiles/_C.dir/a.cu.o", expected("CMakeFiles/_C.dir/a.cu.o", 1, "vllm"), 0.0)


def test_a_unit_that_was_killed_is_reckoned_with_what_it_had_for_its_whole_life() -> None:
    unit = _unit()
    unit.start()
    unit.see(Use(40 << 30, 3.0, frozenset({"cicc"})))
    assert unit.expectation(1.0).peak < 40 << 30
    unit.kills = 1
    again = unit.expectation(1.0)
    assert again.peak == 40 << 30
    assert min(again.curve.levels) == 1
    assert unit.as_waiting(1.0).alone


def test_a_new_try_begins_from_nothing_and_remembers_the_peak() -> None:
    unit = _unit()
    unit.start()
    unit.see(Use(2 << 30, 3.0, frozenset({"cicc"})))
    unit.start()
    assert (unit.memory, unit.seen, unit.cpu_seconds, unit.growth) == (0, 0, 0.0, 0.0)
    assert unit.peak == 2 << 30
    assert unit.tries == 2


def test_cpu_time_never_goes_back() -> None:
    unit = _unit()
    unit.start()
    unit.see(Use(1, 3.0, frozenset()))
    unit.see(Use(1, 1.0, frozenset()))
    assert unit.cpu_seconds == 3.0


def test_a_machine_that_is_slower_takes_longer_but_what_it_learned_is_its_own() -> None:
    unit = _unit()
    assert unit.expectation(2.0).seconds == pytest.approx(2 * unit.cost.seconds)


def test_a_unit_that_was_given_up_is_wrong_only_when_killed_or_given_up_again() -> None:
    known = Expectation(60.0, 4 << 30, 0.1, Curve((0.2,) * 12 + (1.0,) * 12))
    assert again(known, 9 << 30, 0, 0) == known
    assert again(known, 9 << 30, 0, 1) == replace(known, peak=9 << 30)
    assert again(known, 1 << 30, 0, 1) == known
    for kills, evictions in ((1, 0), (0, 2), (1, 1)):
        wrong = again(known, 1 << 30, kills, evictions)
        assert (wrong.peak, wrong.curve) == (known.peak, FLAT)
