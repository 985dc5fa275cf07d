"""Signals of two looks, and rules over time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.machines import healthy

from dsv4_doctor.facts.driver import Xid
from dsv4_doctor.facts.gpu import Gpu
from dsv4_doctor.knowledge import metrics as knowledge
from dsv4_doctor.watch.exposition import Page
from dsv4_doctor.watch.judging import Judge, shown
from dsv4_doctor.watch.sample import Look, Reading, narrow, new_xids, reading


def look(at: float, gpus: tuple[Gpu, ...] | None = None, **values: float) -> Look:
    return Look(at, Page(values, 1, ("m",), {}, ()), gpus=gpus)


def gpu(**values: object) -> Gpu:
    (first, *_) = healthy().gpus or ()
    return Gpu(**{**vars(first), **values})


def test_rates_of_two_looks() -> None:
    first = look(10, prefix_queries=100, prefix_hits=10, prompt_tokens=0, preemptions=1)
    second = look(12, prefix_queries=300, prefix_hits=110, prompt_tokens=50, preemptions=2)
    assert reading(second, first).signals == {
        "up": 1,
        "prefix_hit_rate": 0.5,
        "prompt_rate": 25,
        "preemption_rate": 0.5,
    }


def test_the_time_to_the_first_token_is_that_of_the_window() -> None:
    first = look(0, first_token_seconds_sum=10, first_token_seconds_count=10)
    second = look(5, first_token_seconds_sum=11, first_token_seconds_count=12)
    assert reading(second, first).signals["first_token"] == 0.5


def test_without_a_look_before_there_are_no_rates() -> None:
    now = look(1, prefix_queries=5, prefix_hits=5, running=3)
    assert reading(now, None).signals == {"up": 1, "running": 3}


def test_counters_that_go_back_are_said_and_give_no_rate() -> None:
    found = reading(look(2, prompt_tokens=5), look(1, prompt_tokens=9))
    assert found.signals == {"up": 1}
    assert found.untold == (
        "counters went back: the server was started anew, or another one answers",
    )


def test_other_models_than_before_are_said() -> None:
    before = Look(0, Page({}, 1, ("old",), {}, ()))
    (note,) = reading(look(1), before).untold
    assert note.startswith("the models changed from old to m: ")


def test_hits_beyond_queries_are_said_and_left_out() -> None:
    first = look(1, prefix_queries=0, prefix_hits=0)
    found = reading(look(2, prefix_queries=10, prefix_hits=20), first)
    assert "prefix_hit_rate" not in found.signals
    assert "a hit rate of 2 " in found.untold[0]


def test_the_rate_that_an_old_engine_says_itself() -> None:
    assert reading(look(1, prefix_rate=0.3), None).signals["prefix_hit_rate"] == 0.3


def test_a_page_that_could_not_be_read() -> None:
    found = reading(Look(1, None, "no whole answer within 5 s"), look(0, running=1))
    assert found.signals == {"up": 0}
    assert found.untold == ("metrics: no whole answer within 5 s",)


def test_gpus() -> None:
    gpus = (
        gpu(utilization=90, link_width=8, link_width_max=16, throttle=("hw_slowdown",)),
        gpu(utilization=50, link_generation=5, link_generation_max=5, memory=100, memory_used=95),
        gpu(utilization=None, error="lost"),
    )
    signals = reading(look(1, gpus), None).signals
    assert signals["gpu_utilization"] == 70
    assert signals["gpu_memory"] == 0.95
    assert (signals["gpu_throttled"], signals["gpu_link_narrow"], signals["gpu_lost"]) == (1, 1, 1)


@pytest.mark.parametrize(
    ("utilization", "generation", "expected"),
    [(0, 1, False), (49, 1, False), (50, 1, True), (100, 5, False), (None, 1, False)],
)
def test_a_slow_link_counts_only_under_load(
    utilization: int | None, generation: int, expected: bool
) -> None:
    each = gpu(utilization=utilization, link_generation=generation, link_generation_max=5)
    assert narrow(each) is expected


def test_xids_are_counted_from_the_start_of_the_watch() -> None:
    def signals(now: int | None, first: int | None) -> dict[str, float]:
        xids = None if now is None else (Xid("0000:17:00", 79, now),)
        before = None if first is None else (Xid("0000:17:00", 79, first),)
        return dict(reading(replace(look(1), xids=xids), None, before).signals)

    assert signals(5, 3)["xids"] == 2
    assert signals(1, 3)["xids"] == 0
    assert "xids" not in signals(None, 3)
    assert "xids" not in signals(3, None)


def test_an_xid_of_another_kind_or_gpu_is_new() -> None:
    first = (Xid("0000:17:00", 13, 2),)
    now = (Xid("0000:17:00", 13, 2), Xid("0000:17:00", 79), Xid("0000:65:00", 13))
    assert new_xids(now, first) == now[1:]


def told(judge: Judge, *values: tuple[float, dict[str, float]]) -> list[tuple[float, str, str]]:
    return [
        (at, event.kind, event.id)
        for at, signals in values
        for event in judge.take(Reading(at, signals))
    ]


KV = "watch.kv-cache.full"


def test_the_kv_cache_is_raised_after_its_time_and_taken_back_below_its_other_threshold() -> None:
    usages = [(0, 0.96), (5, 0.97), (10, 0.96), (15, 0.94), (20, 0.91), (25, 0.9), (30, 0.96)]
    found = told(Judge(), *((at, {"kv_usage": value}) for at, value in usages))
    assert found == [(10, "raised", KV), (25, "cleared", KV)]


def test_one_look_below_begins_the_time_anew() -> None:
    usages = [(0, 0.96), (5, 0.9), (9, 0.96), (12, 0.96), (20, 0.96)]
    found = told(Judge(), *((at, {"kv_usage": value}) for at, value in usages))
    assert found == [(20, "raised", KV)]


def test_what_cannot_be_told_raises_nothing_and_takes_nothing_back() -> None:
    signals: list[tuple[float, dict[str, float]]] = [
        (0, {"kv_usage": 0.99}),
        (10, {"kv_usage": 0.99}),
        (20, {}),
        (30, {"kv_usage": 0.1}),
    ]
    assert told(Judge(), *signals) == [(10, "raised", KV), (30, "cleared", KV)]


def test_scaling_out_needs_a_queue_and_idle_gpus() -> None:
    def at(time: float, busy: float, waiting: float) -> tuple[float, dict[str, float]]:
        return time, {"gpu_utilization": busy, "waiting": waiting}

    rule = "watch.queue.scale-out"
    found = told(Judge(), at(0, 60, 60), at(30, 60, 60), at(40, 75, 45), at(50, 60, 39))
    assert found == [(30, "raised", rule), (50, "cleared", rule)]
    assert told(Judge(), at(0, 60, 50), at(30, 60, 50), at(60, 60, 50)) == []
    assert told(Judge(), at(0, 95, 99), at(30, 95, 99), at(60, 95, 99)) == []


def test_steps_of_the_utilisation() -> None:
    def at(time: float, busy: float) -> tuple[float, dict[str, float]]:
        return time, {"gpu_utilization": busy, "running": 4}

    down, up = "watch.utilization.step-down", "watch.utilization.step-up"
    steady = [at(time, 90) for time in range(0, 60, 10)]
    assert told(Judge(), *steady, at(60, 40)) == [(60, "raised", down)]
    found = told(Judge(), *steady, *(at(time, 40) for time in range(60, 130, 10)))
    assert found == [(60, "raised", down), (100, "cleared", down)]
    idle = [at(time, 5) for time in range(0, 60, 10)]
    assert told(Judge(), *idle, at(60, 60)) == [(60, "raised", up)]
    # A wandering load is no step.
    assert told(Judge(), *(at(time, time) for time in range(0, 100, 10))) == []


def test_a_step_without_a_running_request_is_the_end_of_the_load() -> None:
    signals = [(float(at), {"gpu_utilization": 90.0, "running": 1.0}) for at in range(0, 60, 10)]
    assert told(Judge(), *signals, (60, {"gpu_utilization": 0.0, "running": 0.0})) == []


@given(st.lists(st.floats(0.9, 0.95, exclude_min=True), min_size=1, max_size=30))
def test_between_the_two_thresholds_nothing_changes(values: list[float]) -> None:
    between = [(20.0 + at, {"kv_usage": value}) for at, value in enumerate(values)]
    assert told(Judge(), *between) == []
    high: list[tuple[float, dict[str, float]]] = [(0, {"kv_usage": 1}), (10, {"kv_usage": 1})]
    assert told(Judge(), *high, *between) == [(10, "raised", KV)]


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(sorted(knowledge.signals())), st.floats(0, 100), max_size=6
        ),
        max_size=30,
    )
)
def test_every_rule_is_raised_and_taken_back_in_turn(series: list[dict[str, float]]) -> None:
    judge = Judge()
    last: dict[str, str] = {}
    for at, signals in enumerate(series):
        for event in judge.take(Reading(at * 20.0, signals)):
            assert event.kind != last.get(event.id, "cleared")
            last[event.id] = event.kind
    assert {each.id for each in judge.raised} == {k for k, v in last.items() if v == "raised"}


def test_an_impatient_judge_does_not_wait() -> None:
    assert told(Judge(patient=False), (0, {"kv_usage": 0.99})) == [(0, "raised", KV)]


def test_a_raised_rule_tells_the_newest_value() -> None:
    judge = Judge(patient=False)
    judge.take(Reading(0, {"kv_usage": 0.96}))
    judge.take(Reading(1, {"kv_usage": 0.99}))
    (event,) = judge.raised
    assert event.says.startswith("the KV cache is 99.0% full")


def test_the_rules_fit_their_signals() -> None:
    for rule in knowledge.rules():
        assert rule.signal in knowledge.signals()
        assert all(each.signal in knowledge.signals() for each in rule.also)
        assert sum(each is not None for each in (rule.above, rule.below, rule.step)) == 1
        if rule.above is not None:
            assert rule.clear <= rule.above
        if rule.below is not None:
            assert rule.clear >= rule.below
        if rule.step is not None:
            assert 0 < rule.clear < abs(rule.step)
        assert rule.says
        assert rule.do
        assert rule.origin.file


@pytest.mark.parametrize(
    ("signal", "value", "expected"),
    [
        ("kv_usage", 0.951, "95.1%"),
        ("gpu_utilization", 64.6, "65 %"),
        ("first_token", 0.1234, "0.123 s"),
        ("waiting", 51.0, "51"),
        ("preemption_rate", 0.25, "0.25"),
    ],
)
def test_values_as_a_person_reads_them(signal: str, value: float, expected: str) -> None:
    assert shown(signal, value) == expected
