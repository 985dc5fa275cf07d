"""The output of a monitoring plugin, read as the plugin guidelines say."""

from __future__ import annotations

import re

import nagiosplugin
import pytest
from hypothesis import given
from tests.doctor.formats.reports import finding, hostile, report

from dsv4_doctor.formats.nagios import render, status, unknown
from dsv4_doctor.report import Report
from dsv4_doctor.target import Target

FIRST = re.compile(r"DSV4_DOCTOR (OK|WARNING|CRITICAL|UNKNOWN) - ([^|]+) \| ([^|]+)")
DATUM = re.compile(r"([a-z]+)=(\d+);(\d*);(\d*);(\d*)")
# What Nagios hands to shells and web pages, and would strip itself (illegal_macro_output_chars).
ILLEGAL = set("`~$&|'\"<>") - {"~"}


def read(text: str) -> tuple[str, dict[str, re.Match[str]], list[str]]:
    """Return the state, the performance data by label, and the long output."""
    first, *rest = text.removesuffix("\n").split("\n")
    match = FIRST.fullmatch(first)
    assert match is not None, first
    data = [DATUM.fullmatch(each) for each in match[3].split(" ")]
    return match[1], {each[1]: each for each in data if each is not None}, rest


@pytest.mark.parametrize(
    ("statuses", "strict", "code", "state"),
    [
        (("pass", "skip"), False, 0, "OK"),
        (("pass", "warn"), False, 1, "WARNING"),
        (("pass", "warn"), True, 2, "CRITICAL"),
        (("warn", "unknown"), False, 3, "UNKNOWN"),
        (("unknown", "fail"), False, 2, "CRITICAL"),
    ],
)
def test_the_state_is_the_worst(
    statuses: tuple[str, ...], strict: bool, code: int, state: str
) -> None:
    made = report("x", *statuses)
    assert status(made, strict=strict) == code
    said, data, _ = read(render(made, strict=strict))
    assert said == state
    assert {each for each, datum in data.items() if datum[2] != "0"} == set(statuses)


def test_thresholds_are_ranges() -> None:
    _, data, _ = read(render(report()))
    assert set(data) == {"pass", "warn", "fail", "unknown", "skip"}
    for label, group in (("warn", 3), ("fail", 4)):
        allowed = nagiosplugin.Range(data[label][group])
        assert allowed.match(0)
        assert not allowed.match(1)
    assert nagiosplugin.Range(data["pass"][3]).match(99)


def test_what_is_wrong_stands_in_the_long_output() -> None:
    _, _, lines = read(render(report("x")))
    assert lines[:2] == ["[fail] cuda.home.fail: title x", "  do: do x"]
    assert len(lines) == 6


def test_signs_stay_readable() -> None:
    text = render(report("a -> b >= 2 <= 3", "fail"))
    assert "a → b ≥ 2 ≤ 3" in text


def test_no_more_than_nagios_reads() -> None:
    findings = tuple(finding("fail", "x" * 900) for _ in range(100))
    text = render(Report("1", "h", "t", Target("0.24.0"), findings))
    assert len(text.encode()) <= 8192
    assert re.search(r"\nand \d+ more lines\n$", text)
    assert read(text)[1]["fail"][2] == "100"


@given(hostile)
def test_hostile_text_stays_on_its_line(text: str) -> None:
    rendered = render(report(text))
    _, data, lines = read(rendered)
    assert len(data) == 5
    assert len(lines) == 6
    assert all(line.isprintable() for line in lines)
    said = rendered.replace(" | pass=", " pass=")
    assert not set(said) & ILLEGAL
    assert not set(unknown(text)) & ILLEGAL
    assert unknown(text).count("\n") == 1
