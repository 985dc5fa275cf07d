from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from dsv4_build.schedule import memory
from dsv4_build.schedule.costs import expected
from dsv4_build.schedule.events import Events
from dsv4_build.schedule.gauge import STALL, Gauge
from dsv4_build.schedule.memory import Scope
from dsv4_build.schedule.situation import Memory
from dsv4_build.schedule.unit import Unit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GIB = 1 << 30
LIMIT = 96 * GIB
GUARD = memory.guard_of(LIMIT)


def _scope(
    name: str = "machine",
    free: int = 50 * GIB,
    kills: int = 0,
    pressure: tuple[float, float] | None = None,
) -> Scope:
    return Scope(name, LIMIT, free, kills, pressure)


class _Here:
    """A gauge whose machine is what a test says."""

    def __init__(self, place: Path, *scopes: Scope) -> None:
        self.scopes = scopes
        self.notes: list[str] = []
        self.file = place / "schedule.jsonl"
        self.events = Events(self.file)
        self.gauge = Gauge(lambda: self.scopes, self.events, self.notes.append)

    def read(self, *units: Unit, now: float = 100.0) -> Memory:
        self.gauge.read(units, now)
        return self.gauge.memory

    def lines(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.file.read_text().splitlines()]


@pytest.fixture
def here(tmp_path: Path) -> Iterator[_Here]:
    made = _Here(tmp_path, _scope())
    yield made
    made.events.close()


def _unit(number: int) -> Unit:
    path = "CMakeFiles/_C.dir/a.cu.o"
    return Unit(number, path, expected(path, 1, "vllm"), 0.0)


def test_the_tightest_limit_counts(here: _Here) -> None:
    here.scopes = (_scope(), _scope("group", 3 * GIB))
    assert here.read() == Memory(3 * GIB, GUARD)


def test_where_nothing_is_told_memory_does_not_bind(here: _Here) -> None:
    here.scopes = ()
    assert here.read().free > 1 << 50


@pytest.mark.parametrize(
    ("stall", "free", "stalled"),
    [
        (STALL, 4 * GUARD - 1, True),
        (STALL - 0.1, 4 * GUARD - 1, False),
        (STALL, 4 * GUARD, False),  # Something waits, but there is enough: for a file, say.
    ],
)
def test_waiting_for_memory_holds_back_where_it_is_short(
    here: _Here, stall: float, free: int, stalled: bool
) -> None:
    here.scopes = (_scope(free=free), _scope("group", pressure=(stall, 0.0)))
    assert here.read().stalled is stalled


def test_only_kills_of_this_build_are_noted_and_each_once(here: _Here) -> None:
    here.scopes = (_scope(kills=7),)
    assert here.gauge.begin() == here.scopes
    here.read()
    assert here.notes == []
    here.scopes = (_scope(kills=9), _scope("late", kills=4))  # A group that was made later.
    here.read()
    here.read()
    assert here.notes == ["the kernel killed 2 for machine"]
    here.scopes = (_scope(kills=9), _scope("late", kills=5))
    here.read()
    assert here.notes[1:] == ["the kernel killed 1 for late"]


def test_lines_tell_what_the_units_use_and_come_now_and_then(here: _Here) -> None:
    running, waiting = _unit(1), _unit(2)
    running.start()
    running.pid, running.memory = 42, GIB
    here.read(now=100.0)  # Nothing to tell without a unit.
    here.read(running, waiting, now=100.1)
    here.read(running, waiting, now=101.0)
    here.read(running, waiting, now=101.2)
    first, second = here.lines()
    assert (first["used"], first["free"], first["limit"]) == (46 * GIB, 50 * GIB, LIMIT)
    assert (first["running"], first["paused"], first["waiting"]) == (1, 0, 1)
    assert (first["units"], first["pressure"]) == ({"1": GIB}, None)
    assert second["event"] == "memory"
