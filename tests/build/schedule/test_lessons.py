from __future__ import annotations

from dataclasses import replace

import pytest

from dsv4_build.schedule.costs import expected
from dsv4_build.schedule.curve import FLAT
from dsv4_build.schedule.learned import Record
from dsv4_build.schedule.lessons import Lessons
from dsv4_build.schedule.unit import Unit


def _unit(seconds: float, basis: str = "measured") -> Unit:
    path = "CMakeFiles/_C.dir/a.cu.o"
    cost = replace(expected(path, 1, "vllm"), seconds=seconds, basis=basis)
    return Unit(1, path, cost, 0.0)


def test_a_machine_is_taken_to_be_as_fast_as_the_one_that_was_measured() -> None:
    assert Lessons().speed == 1.0


def test_units_that_take_longer_slow_the_machine_down() -> None:
    lessons = Lessons()
    lessons.compiled(_unit(60.0), Record(120.0, 1, FLAT))
    assert 1.0 < lessons.speed < 2.0
    for _ in range(99):
        lessons.compiled(_unit(60.0), Record(120.0, 1, FLAT))
    assert lessons.speed == pytest.approx(2.0, rel=0.05)


def test_what_was_learned_here_tells_nothing_of_the_difference() -> None:
    lessons = Lessons()
    lessons.compiled(_unit(60.0, "learned"), Record(600.0, 1, FLAT))
    assert lessons.speed == 1.0
    assert lessons.records == {"_C:a.cu": Record(600.0, 1, FLAT)}


def test_one_that_needs_too_much_is_remembered_with_all_it_had() -> None:
    lessons, unit = Lessons(), _unit(60.0)
    unit.peak, unit.cpu_seconds = 90 << 30, 12.0
    lessons.killed(unit)
    assert lessons.records == {"_C:a.cu": Record(60.0, 90 << 30, FLAT)}
    assert lessons.speed == 1.0
