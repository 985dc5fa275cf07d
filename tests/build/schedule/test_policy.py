from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from dsv4_build.schedule import relief
from dsv4_build.schedule.curve import FLAT, Curve
from dsv4_build.schedule.outlook import TIMES, Demand, Expectation, Progress, outlook
from dsv4_build.schedule.policy import decide
from dsv4_build.schedule.situation import Decision, Memory, Running, Waiting

GIB = 1 << 30
GUARD = GIB

_CURVES = st.lists(st.floats(0, 1), min_size=1, max_size=24).map(lambda x: Curve((*x, 1.0)))
_EXPECTED = st.builds(
    Expectation, st.floats(0.1, 900), st.integers(1, 12 * GIB), st.floats(0, 0.5), _CURVES
)
_PROGRESS = st.builds(
    Progress, st.floats(0, 2000), st.integers(0, 16 * GIB), st.integers(0, 16 * GIB)
)
_RUNNING = st.builds(
    Running, st.just(0), _EXPECTED, _PROGRESS, st.floats(-1e9, 1e9), st.booleans(), st.booleans()
)
_WAITING = st.builds(Waiting, st.just(0), _EXPECTED, st.floats(0, 100), st.booleans())


def _expected(seconds: float, gib: float, curve: Curve = FLAT) -> Expectation:
    return Expectation(seconds, int(gib * GIB), 0.0, curve)


def _waiting(*expected: Expectation) -> list[Waiting]:
    return [Waiting(number, each, 0.0) for number, each in enumerate(expected)]


def _running(unit: int, expected: Expectation, cpu: float, gib: float) -> Running:
    return Running(unit, expected, Progress(cpu, int(gib * GIB), int(gib * GIB)))


def _memory(gib: float) -> Memory:
    return Memory(int(gib * GIB), GUARD)


@given(_EXPECTED, _PROGRESS)
def test_an_outlook_is_never_negative_nor_above_what_was_seen(
    expected: Expectation, progress: Progress
) -> None:
    found = outlook(expected, progress)
    assert len(found.mean) == len(found.variance) == len(found.most) == len(TIMES)
    limit = max(expected.peak, progress.peak, progress.memory) * (1 + expected.spread) + 1
    assert all(0 <= value <= limit for value in (*found.mean, *found.most))
    assert all(value >= -1 for value in found.variance)


@given(
    st.lists(_RUNNING, max_size=8),
    st.lists(_WAITING, max_size=8),
    st.integers(0, 64 * GIB),
    st.booleans(),
    st.integers(1, 8),
)
def test_a_decision_is_about_units_that_are_there_and_leaves_one_running(
    running: list[Running], waiting: list[Waiting], free: int, stalled: bool, jobs: int
) -> None:
    live = [replace(unit, unit=number) for number, unit in enumerate(running)]
    idle = [replace(unit, unit=100 + number) for number, unit in enumerate(waiting)]
    decision = decide(live, idle, Memory(free, GUARD, stalled), jobs, 200.0)
    active = {unit.unit for unit in live if not unit.paused}
    paused = {unit.unit for unit in live if unit.paused}
    assert decision.admit.keys() <= {unit.unit for unit in idle}
    assert decision.pause.keys() <= active
    assert decision.resume.keys() | decision.evict.keys() <= paused
    assert len(active) + len(decision.admit) <= max(jobs, len(active))
    after = (active - decision.pause.keys()) | decision.resume.keys() | decision.admit.keys()
    assert after or not (live or idle)


@given(
    st.lists(_RUNNING, max_size=6),
    st.lists(_WAITING, min_size=1, max_size=8),
    st.integers(0, 64 * GIB),
    st.floats(0, 600),
)
def test_what_starts_fits_at_every_time_to_come_with_what_runs(
    running: list[Running], waiting: list[Waiting], free: int, now: float
) -> None:
    live = [replace(unit, unit=number, paused=False) for number, unit in enumerate(running)]
    idle = {100 + number: replace(unit, unit=100 + number) for number, unit in enumerate(waiting)}
    decision = decide(live, list(idle.values()), Memory(free, GUARD), 16, now)
    room = free - GUARD + sum(unit.progress.memory for unit in live)
    demand = Demand()
    for unit in live:
        demand.add(outlook(unit.expected, unit.progress))
    if decision.admit and not live:
        # The first starts whether it fits or not.
        first, *decision_rest = decision.admit
        demand.add(outlook(idle[first].expected, Progress()))
    else:
        decision_rest = list(decision.admit)
    for number in decision_rest:
        demand.add(outlook(idle[number].expected, Progress()))
    assert not decision_rest or (demand.fits(room + 1) and demand.fits_on_time(room + 1))


@given(st.lists(_RUNNING, min_size=1, max_size=8), st.integers(0, GUARD - 1))
def test_when_memory_runs_short_what_goes_on_has_room_or_is_one(
    running: list[Running], free: int
) -> None:
    live = [replace(unit, unit=number, paused=False) for number, unit in enumerate(running)]
    stopped = decide(live, [], Memory(free, GUARD), 16, 0.0).pause
    most = {
        unit.unit: max(
            outlook(unit.expected, unit.progress).growth(unit.progress.memory, relief.SOON),
            relief.AHEAD * unit.growth,
        )
        for unit in live
    }
    left = max(free - GUARD / 2, 0)
    going = [unit for unit in live if unit.unit not in stopped]
    demand = Demand()
    for unit in going:
        demand.add(outlook(unit.expected, unit.progress))
    held = sum(unit.progress.memory for unit in going)
    likely = demand.within(relief.SOON, relief.DEVIATIONS) - held
    seen = relief.AHEAD * sum(max(unit.growth, 0) for unit in going)
    at_most = sum(most[unit.unit] for unit in going)
    likely += (at_most - likely) / max(len(going), 1)
    assert len(going) <= 1 or min(at_most, max(likely, seen)) <= left + 1
    assert all(most[number] > 0 for number in stopped)
    # Nothing is stopped for nothing.
    assert not stopped or sum(most.values()) > left


def test_many_are_not_stopped_because_each_of_them_might_grow() -> None:
    # Near a peak that most of them have behind them or before them, no two at the same time.
    hill = Curve((0.2, 0.4, 0.6, 0.8, 1.0, 0.8, 0.6, 0.4, 0.2, 0.2))
    many = [
        _running(number, _expected(200, 4, hill), 200 * (number + 0.5) / 40, held)
        for number in range(40)
        for held in [4 * hill.levels[number // 4]]
    ]
    at_most = sum(
        outlook(unit.expected, unit.progress).growth(unit.progress.memory, relief.SOON)
        for unit in many
    )
    assert at_most > 2 * 7 * GIB
    assert not decide(many, [], Memory(15 * GIB, 16 * GIB), 64, 0.0).pause
    assert decide(many[10:14], [], Memory(5 * GIB, 8 * GIB), 64, 0.0).pause


def test_the_longest_starts_first() -> None:
    waiting = _waiting(_expected(10, 1), _expected(300, 1), _expected(50, 1))
    assert list(decide([], waiting, _memory(64), 2, 0.0).admit) == [1, 2]


def test_where_memory_is_short_what_needs_much_is_mixed_with_what_needs_little() -> None:
    light, heavy = _expected(60, 1), _expected(50, 8)
    waiting = _waiting(*[light] * 6, *[heavy] * 6)
    running = [_running(100 + number, light, 5.0, 1.0) for number in range(2)]
    assert list(decide(running, waiting, _memory(12), 3, 0.0).admit) == [6]
    running = [_running(100 + number, heavy, 5.0, 8.0) for number in range(2)]
    assert list(decide(running, waiting, _memory(12), 3, 0.0).admit) == [0]
    assert list(decide(running, waiting, _memory(900), 3, 0.0).admit) == [0]


def test_one_unit_runs_also_where_it_does_not_fit() -> None:
    waiting = _waiting(_expected(10, 80), _expected(10, 80))
    assert list(decide([], waiting, _memory(4), 8, 0.0).admit) == [0]


def test_what_runs_is_reckoned_with_its_growth_to_come() -> None:
    late = Curve((0.1,) * 20 + (1.0,) * 4)
    running = [_running(9, _expected(100, 10, late), 10.0, 1.0)]
    assert not decide(running, _waiting(_expected(100, 6)), _memory(12), 8, 0.0).admit
    assert decide(running, _waiting(_expected(100, 6)), _memory(17), 8, 0.0).admit


def test_a_peak_that_is_over_makes_room() -> None:
    early = Curve((1.0,) * 8 + (0.1,) * 16)
    unit = Running(9, _expected(100, 10, early), Progress(60.0, GIB, 10 * GIB))
    assert decide([unit], _waiting(_expected(100, 6)), _memory(8), 8, 0.0).admit


def test_a_unit_that_still_grows_has_its_peak_before_it_however_long_it_took() -> None:
    early = Curve((0.1, 0.4, 0.7, 1.0, 0.1, 0.1, 0.1, 0.1))
    slow = Running(9, _expected(50, 10, early), Progress(49.0, 5 * GIB, 5 * GIB))
    assert not decide([slow], _waiting(_expected(100, 6)), _memory(10), 8, 0.0).admit
    fallen = replace(slow, progress=Progress(49.0, GIB, 5 * GIB))
    assert decide([fallen], _waiting(_expected(100, 6)), _memory(10), 8, 0.0).admit


def test_a_short_unit_fits_before_a_late_peak() -> None:
    late = Curve((0.1,) * 12 + (1.0,) * 12)
    running = [_running(9, _expected(1000, 10, late), 100.0, 1.0)]
    assert decide(running, _waiting(_expected(20, 6)), _memory(11), 8, 0.0).admit


def test_nothing_starts_while_the_machine_stalls() -> None:
    running = [_running(9, _expected(100, 1), 10.0, 1.0)]
    waiting = _waiting(_expected(10, 1))
    assert not decide(running, waiting, Memory(60 * GIB, GUARD, stalled=True), 8, 0.0).admit
    assert decide([], waiting, Memory(60 * GIB, GUARD, stalled=True), 8, 0.0).admit


def test_a_big_unit_is_not_passed_over_for_ever() -> None:
    big, small = _expected(100, 9), _expected(30, 4)
    running = [_running(9, small, 10.0, 4.0)]
    waiting = _waiting(big, small)
    assert list(decide(running, waiting, _memory(8), 8, 1.0).admit) == [1]
    assert not decide(running, waiting, _memory(8), 8, 500.0).admit


def test_a_killed_unit_waits_for_the_others_and_keeps_others_waiting() -> None:
    alone = Waiting(0, _expected(10, 1), 0.0, alone=True)
    other = Waiting(1, _expected(99, 1), 0.0)
    running = [_running(9, _expected(100, 1), 10.0, 1.0)]
    assert decide(running, [alone, other], _memory(60), 8, 0.0) == Decision()
    assert list(decide([], [alone, other], _memory(60), 8, 0.0).admit) == [0]
    lonely = [replace(running[0], alone=True)]
    assert decide(lonely, [other], _memory(60), 8, 0.0) == Decision()


def test_what_grows_least_goes_on_when_memory_runs_short() -> None:
    rising = Curve((0.1, 0.2, 0.4, 0.6, 0.8, 1.0))
    units = [
        _running(1, _expected(60, 8, rising), 15.0, 2.0),
        _running(2, _expected(60, 8, rising), 55.0, 7.9),
    ]
    assert list(decide(units, [], _memory(0.9), 8, 0.0).pause) == [1]
    assert list(decide(units, [], _memory(0.1), 8, 0.0).pause) == [1]


def test_the_cheapest_is_given_up_only_when_stopping_does_not_help() -> None:
    active = replace(_running(1, _expected(60, 8), 30.0, 6.0), growth=1e8)
    stopped = [
        replace(_running(number, _expected(60, 8), cpu, 3.0), paused=True)
        for number, cpu in ((2, 20.0), (3, 4.0))
    ]
    assert list(decide([active, *stopped], [], _memory(0.3), 8, 0.0).evict) == [3]
    assert not decide([active, *stopped], [], _memory(0.9), 8, 0.0).evict


def test_what_has_its_peak_behind_it_goes_on_when_memory_runs_short() -> None:
    early = Curve((0.2, 0.5, 1.0, 1.0, 0.1, 0.1, 0.1, 0.1))
    over = [
        Running(number, _expected(80, 8, early), Progress(60.0, GIB, 8 * GIB))
        for number in range(3)
    ]
    growing = [_running(9, _expected(80, 8, early), 12.0, 3.0)]
    assert list(decide([*over, *growing], [], _memory(0.2), 8, 0.0).pause) == [9]


def test_one_is_given_up_when_most_of_the_memory_stands_still() -> None:
    done = Curve((1.0,) * 4 + (0.5,) * 20)
    active = Running(1, _expected(60, 4, done), Progress(50.0, 2 * GIB, 4 * GIB))
    stopped = [
        replace(_running(number, _expected(60, 8), cpu, 3.0), paused=True)
        for number, cpu in ((2, 20.0), (3, 4.0))
    ]
    assert list(decide([active, *stopped], [], _memory(0.9), 8, 0.0).evict) == [3]
    assert list(decide([active, *stopped], [], _memory(3), 8, 0.0).evict) == [3]
    assert not decide([active, stopped[1]], [], _memory(3), 8, 0.0).evict
    # What goes on was not seen yet: nothing is known of how much is at work.
    unseen = replace(active, progress=Progress())
    assert not decide([unseen, *stopped], [], _memory(0.9), 8, 0.0).evict


def test_a_unit_that_grows_is_no_farther_than_where_as_much_is_used() -> None:
    rising = Curve((*(n / 12 for n in range(1, 13)), *(0.1,) * 12))
    slow = _expected(100, 12, rising)
    found = outlook(slow, Progress(48.0, 3 * GIB, 3 * GIB))
    # By its time its peak would be over in a moment: it has a quarter of it.
    assert max(found.mean) > 6 * GIB
    assert outlook(slow, Progress(60.0, GIB, 12 * GIB)).most[10] < 3 * GIB


def test_a_flat_unit_is_reckoned_with_to_its_end() -> None:
    found = outlook(_expected(100, 4), Progress(90.0, GIB, 4 * GIB))
    assert found.most[5] == 4 * GIB


def test_what_starts_later_needs_nothing_before_and_then_the_same() -> None:
    late = Curve((0.1,) * 12 + (1.0,) * 12)
    expected, start = _expected(100, 8, late), 14
    found = outlook(expected, Progress(), start)
    assert not any(found.mean[:start])
    assert not any(found.most[:start])
    assert found.most[start] < GIB
    # Its peak comes half its time after its start.
    begins = next(time for time, most in zip(TIMES, found.most, strict=True) if most > 7 * GIB)
    assert TIMES[start] + 25 < begins < TIMES[start] + 75


def test_stopped_units_go_on_before_others_start() -> None:
    stopped = replace(_running(1, _expected(60, 2), 30.0, 1.0), paused=True)
    active = _running(2, _expected(60, 2), 30.0, 1.0)
    decision = decide([active, stopped], _waiting(_expected(99, 1)), _memory(50), 8, 0.0)
    assert list(decision.resume) == [1]
    assert not decision.admit
