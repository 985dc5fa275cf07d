"""The metrics as Prometheus' own parser reads them."""

from __future__ import annotations

from hypothesis import given
from prometheus_client.parser import text_string_to_metric_families
from tests.doctor.formats.reports import finding, hostile, report

from dsv4_doctor.formats.plain import printable
from dsv4_doctor.formats.prometheus import render
from dsv4_doctor.report import Report
from dsv4_doctor.target import Target

Series = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def read(text: str) -> Series:
    found: Series = {}
    for family in text_string_to_metric_families(text):
        assert family.type == "gauge"
        assert family.documentation
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in found
            assert sample.timestamp is None
            found[key] = sample.value
    return found


def value(series: Series, name: str, **labels: str) -> float:
    return series[f"dsv4_doctor_{name}", tuple(sorted(labels.items()))]


def test_the_parser_reads_what_was_meant() -> None:
    series = read(render(report()))
    for status in ("pass", "warn", "fail", "unknown", "skip"):
        assert value(series, "findings", status=status) == 1
        assert value(series, "finding", id=f"cuda.home.{status}", status=status) == 1
    assert value(series, "verdict", verdict="fail") == 1
    assert value(series, "verdict", verdict="pass") == 0
    assert value(series, "facts_timestamp_seconds") == 1795953600
    about = {"version": "1.0", "host": "text", "vllm": "0.24.0", "purpose": "build"}
    assert value(series, "info", archs="sm_90", **about) == 1


def test_findings_of_one_id_are_counted_in_one_series() -> None:
    findings = tuple(finding(each, "x", "a.b.c") for each in ("pass", "pass", "fail"))
    series = read(render(Report("1", "h", "t", Target("0.24.0"), findings)))
    assert value(series, "finding", id="a.b.c", status="pass") == 2
    assert value(series, "finding", id="a.b.c", status="fail") == 1


def test_a_time_that_cannot_be_read_is_left_out() -> None:
    assert "timestamp" not in render(report(when="yesterday"))


@given(hostile)
def test_hostile_text_stays_in_its_label(text: str) -> None:
    rendered = render(report(text, when=text))
    assert all(line.startswith(("dsv4_doctor_", "# ")) for line in rendered.splitlines())
    about = {"version": "1.0", "host": printable(text), "vllm": "0.24.0", "purpose": "build"}
    assert value(read(rendered), "info", archs="sm_90", **about) == 1
