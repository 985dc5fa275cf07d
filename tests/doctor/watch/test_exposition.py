"""A page of metrics: the names of all releases, lies, and what is no page."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_doctor.errors import UsageError
from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge import metrics as knowledge
from dsv4_doctor.knowledge.history import spans
from dsv4_doctor.watch import exposition
from dsv4_doctor.watch.exposition import read
from dsv4_doctor.watch.scrape import ScrapeError
from fake_vllm_server import FakeVllm


def page(*lines: str) -> bytes:
    return ("\n".join(lines) + "\n").encode()


def test_a_page_of_several_engines() -> None:
    found = read(
        page(
            'vllm:num_requests_running{engine="0",model_name="m"} 3.0',
            'vllm:num_requests_running{engine="1",model_name="m"} 4.0',
            'vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25',
            'vllm:kv_cache_usage_perc{engine="1",model_name="m"} 0.5',
            'vllm:prefix_cache_queries_total{engine="0"} 10',
            'vllm:prefix_cache_queries_total{engine="1"} 5',
            'vllm:time_to_first_token_seconds_sum{engine="0"} 2.5',
            'vllm:time_to_first_token_seconds_count{engine="0"} 5',
            'vllm:cache_config_info{block_size="256",engine="0"} 1.0',
            "process_start_time_seconds 1.7e9",
        )
    )
    assert found.values == {
        "running": 7,
        "kv_usage": 0.5,
        "prefix_queries": 15,
        "first_token_seconds_sum": 2.5,
        "first_token_seconds_count": 5,
    }
    assert (found.engines, found.models) == (2, ("m",))
    assert found.info["block_size"] == "256"


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("vllm:gpu_cache_usage_perc 0.5", "kv_usage", 0.5),
        ("vllm:gpu_prefix_cache_hits_total 5", "prefix_hits", 5),
        ("vllm:gpu_prefix_cache_hit_rate 0.75", "prefix_rate", 0.75),
        ("vllm:num_preemptions_total 5", "preemptions", 5),
        ("vllm:num_preemptions_total_total 5", "preemptions", 5),
        ("vllm:prompt_tokens_total 5", "prompt_tokens", 5),
    ],
)
def test_names_of_older_releases(line: str, name: str, value: float) -> None:
    assert read(page(line)).values == {name: value}


def test_the_newest_name_wins() -> None:
    both = page("vllm:gpu_cache_usage_perc 0.1", "vllm:kv_cache_usage_perc 0.9")
    assert read(both).values == {"kv_usage": 0.9}


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-1", "1.5"])
def test_a_value_that_cannot_be_is_left_out_and_said(value: str) -> None:
    found = read(page(f"vllm:kv_cache_usage_perc {value}", "vllm:num_requests_waiting 3"))
    assert found.values == {"waiting": 3}
    (doubt,) = found.doubts
    assert doubt.startswith("vllm:kv_cache_usage_perc says ")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "no metric of vLLM"),
        (b"node_load1 3\n", "no metric of vLLM"),
        (b"<html>not metrics</html>\n", "no page of metrics|no metric of vLLM"),
        (b'vllm:num_requests_running{engine="0" 3\n', "no page of metrics"),
        (b"vllm:num_requests_running three\n", "no page of metrics"),
    ],
)
def test_what_is_no_page(body: bytes, said: str) -> None:
    with pytest.raises(ScrapeError, match=said):
        read(body)


def test_a_page_with_too_many_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exposition, "_SAMPLES", 3)
    with pytest.raises(ScrapeError, match="more than 3 samples"):
        read(page(*(f"vllm:x{i} 1" for i in range(5))))


LINES = st.lists(
    st.sampled_from(
        [
            *("vllm:kv_cache_usage_perc", "{", "}", 'a="b"', 'a="\\', ",", " ", "\n", "1", "NaN"),
            *("# TYPE x histogram", "# HELP", "# EOF", "_bucket", "le=", "\x00", "é", "0x1p3", "#"),
        ]
    ),
    max_size=25,
).map("".join)


@given(LINES)
def test_any_pieces_are_read_or_refused(text: str) -> None:
    try:
        found = read(text.encode())
    except ScrapeError:
        return
    assert all(value >= 0 for value in found.values.values())


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    try:
        read(body)
    except ScrapeError:
        return


def test_the_page_of_the_fake_server_has_what_is_watched() -> None:
    with FakeVllm() as fake:
        found = read(fake.page().encode())
    assert {"running", "waiting", "kv_usage", "prefix_queries", "preemptions"} <= {*found.values}


def test_every_release_has_the_metrics_that_do_not_depend_on_the_engine() -> None:
    newest = load.flag_releases()[-1]
    known = load.flag_releases()
    for metric in knowledge.metrics():
        covered: set[str] = set()
        for name in metric.names:
            for first, last in spans(name.releases, newest):
                covered.update(known[known.index(first) : known.index(last) + 1])
            assert name.place.file.endswith(("metrics.py", "loggers.py"))
        if metric.id in {"running", "waiting", "kv_usage", "preemptions", "prompt_tokens"}:
            assert covered == set(known), metric.id


def test_without_prometheus_client_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(UsageError, match="prometheus-client") as caught:
        exposition.need_prometheus()
    assert caught.value.hint == "pip install 'dsv4-doctor[watch]'"
