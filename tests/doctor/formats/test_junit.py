"""JUnit XML against its schema, and as a reader of it sees it."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
import xmlschema
from hypothesis import given
from junitparser import Error, Failure, JUnitXml, Skipped
from tests.doctor.formats.reports import finding, hostile, report

from dsv4_doctor.formats.junit import render
from dsv4_doctor.report import Report
from dsv4_doctor.target import Target

# Of the Jenkins xUnit plugin, MIT.
SCHEMA = xmlschema.XMLSchema(Path(__file__).parent / "fixtures" / "junit-10.xsd")


def parsed(text: str) -> JUnitXml:
    SCHEMA.validate(text)
    return JUnitXml.fromstring(text.encode())


@pytest.mark.parametrize(("strict", "failures"), [(False, 1), (True, 2)])
def test_a_reader_sees_each_status(strict: bool, failures: int) -> None:
    document = parsed(render(report(), strict=strict))
    assert (document.tests, document.failures, document.errors) == (5, failures, 1)
    (suite,) = document
    results = {case.name: [type(each) for each in case.result] for case in suite}
    assert results["cuda.home.pass"] == []
    assert results["cuda.home.warn"] == ([Failure] if strict else [])
    assert results["cuda.home.fail"] == [Failure]
    assert results["cuda.home.unknown"] == [Error]
    assert results["cuda.home.skip"] == [Skipped]
    about = suite.properties()  # type: ignore[no-untyped-call]
    assert {each.name: each.value for each in about}["vllm"] == "0.24.0"


def test_an_area_is_a_suite_and_a_name_is_used_once() -> None:
    findings = (
        *(finding("pass", "x", "gpu.a.b") for _ in range(2)),
        finding("warn", "x", "arch.a.b"),
    )
    document = parsed(render(Report("1", "h", "t", Target("0.24.0"), findings)))
    assert [suite.name for suite in document] == ["gpu", "arch"]
    assert [case.name for suite in document for case in suite] == [
        "gpu.a.b",
        "gpu.a.b [2]",
        "arch.a.b",
    ]


def test_what_is_wrong_is_told_in_full() -> None:
    text = render(report("here"))
    for part in ('message="title here"', "read: here: here", "do: do here", "run: export A=here"):
        assert part in text


def test_nothing_found_is_a_document_too() -> None:
    assert len(parsed(render(Report("1", "h", "t", Target("0.24.0"), ())))) == 0


@given(hostile)
def test_hostile_text_stays_text(text: str) -> None:
    rendered = render(report(text, when=text))
    SCHEMA.validate(rendered)
    root = Xml.fromstring(rendered.encode())
    assert {each.tag for each in root.iter()} == {
        *("testsuites", "testsuite", "properties", "property", "testcase"),
        *("failure", "error", "skipped", "system-out"),
    }
