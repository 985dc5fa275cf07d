"""Documents to hosts: snapshots judged, reports taken, everything else named."""

from __future__ import annotations

import copy
import json
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.fleet.fleets import TARGET, absence, judge, machine, report_of, without_headers

from dsv4_doctor.codec import dump_snapshot, parse_snapshot
from dsv4_doctor.evaluation import evaluate
from dsv4_doctor.fleet.documents import Document, parse
from dsv4_doctor.fleet.model import Host, Refused
from dsv4_doctor.knowledge import load

RELEASE = load.release(TARGET.release)


def document(data: Any, stem: str = "file") -> Document:
    return Document("dir/file.json", stem, data)


def snapshot(name: str = "n1") -> dict[str, Any]:
    data: dict[str, Any] = json.loads(dump_snapshot(without_headers(name)))
    return data


def test_a_snapshot_gives_what_check_gives() -> None:
    made = judge().host(document(snapshot()))
    assert isinstance(made, Host)
    report = evaluate(without_headers("n1"), TARGET, load.release(TARGET.release))
    assert made.verdict == report.verdict == "fail"
    assert [(each.id, each.status) for each in made.causes] == [
        (each.id, each.status) for each in report.findings
    ]
    [failed] = [each for each in made.causes if each.status == "fail"]
    assert failed.id == "python.headers.present"
    assert failed.commands
    assert dict(made.facts)["torch"] == "2.11.0+cu130"


def test_a_stored_report_and_its_snapshot_are_the_same_host() -> None:
    judged = judge().host(document(snapshot()))
    stored = judge().host(document(json.loads(json.dumps(report_of(without_headers("n1"))))))
    assert isinstance(judged, Host)
    assert isinstance(stored, Host)
    assert stored.causes == judged.causes
    assert (stored.name, stored.verdict) == (judged.name, judged.verdict)


def test_equal_findings_are_kept_once() -> None:
    one = judge()
    first, second = one.host(document(snapshot("n1"))), one.host(document(snapshot("n2")))
    assert isinstance(first, Host)
    assert isinstance(second, Host)
    assert all(a is b for a, b in zip(first.causes, second.causes, strict=True))


def test_a_host_that_gave_nothing_is_a_failure_with_its_reason() -> None:
    made = judge().host(document(absence("n9", "no answer within 60 s")))
    assert isinstance(made, Host)
    assert (made.name, made.verdict, made.problem) == ("n9", "fail", "no answer within 60 s")


def test_hosts_can_be_called_by_their_files() -> None:
    made = judge(by_file=True).host(document(snapshot("localhost"), stem="rack1-n3"))
    assert isinstance(made, Host)
    assert made.name == "rack1-n3"


def test_a_report_is_refused_where_hosts_are_judged_anew() -> None:
    made = judge(anew=True).host(document(report_of(machine("n1"))))
    assert isinstance(made, Refused)
    assert "cannot be judged anew" in made.reason


def test_a_report_that_carries_its_facts_is_judged_anew() -> None:
    data = {**report_of(machine("n1")), "snapshot": snapshot("n1")}
    kept, judged = judge().host(document(data)), judge(anew=True).host(document(data))
    assert isinstance(kept, Host)
    assert isinstance(judged, Host)
    assert (kept.verdict, judged.verdict) == ("pass", "fail")
    assert kept.facts == judged.facts != ()


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "not JSON"),
        (b"[1]", "not a JSON object"),
        (b"\xff\xfe", "not UTF-8"),
        (b'{"schema": "other/1"}', "not a snapshot"),
        (b'{"schema": "dsv4-doctor/snapshot/99"}', "newer than this doctor reads"),
        (b'{"schema": "dsv4-doctor/snapshot/1"}', "not a valid document"),
        (b'{"schema": "dsv4-doctor/report/1", "findings": 3}', "not a valid document"),
        (b'{"schema": "dsv4-doctor/absence/1", "host": 3}', "not a valid document"),
    ],
)
def test_what_is_no_document_is_named_with_its_reason(raw: bytes, reason: str) -> None:
    made = judge().host(parse(raw, "dir/file.json", "file"))
    assert isinstance(made, Refused)
    assert made.origin == "dir/file.json"
    assert reason in made.reason


def test_what_is_not_told_is_not_taken_from_a_machine_that_tells_it() -> None:
    """Two documents may have equal sections and differ in what those leave out, and why."""
    whole = snapshot()
    reason = "the text names only some packages"
    part = copy.deepcopy(whole)
    part["probes"].append({"name": "python.distributions", "seconds": 0.0, "error": reason})
    torchless = copy.deepcopy(part)
    torchless["probes"].append({"name": "python.torch", "seconds": 0.0, "error": "cut off"})
    torchless["python"]["torch"] = None
    for documents in ([whole, part, torchless], [torchless, part, whole]):
        shared = judge()
        for data in documents:
            made = shared.host(document(data))
            alone = judge().host(document(data))
            assert isinstance(made, Host)
            assert made == alone
            report = evaluate(parse_snapshot(json.dumps(data), "x"), TARGET, RELEASE)
            assert made.verdict == report.verdict
            assert [each.status for each in made.causes] == [
                each.status for each in report.findings
            ]
    told = judge().host(document(torchless))
    assert isinstance(told, Host)
    assert {"torch", "vLLM"}.isdisjoint(dict(told.facts))


def test_a_machine_of_another_kind_is_judged_as_check_judges_it() -> None:
    made = judge().host(document({**snapshot(), "foreign": "macOS"}))
    assert isinstance(made, Host)
    assert [each.id for each in made.causes] == ["host.platform.target"]


WHOLE = (
    json.dumps(snapshot()),
    json.dumps(report_of(without_headers("n1"))),
    json.dumps(absence("n1", "unreachable")),
)


@given(st.sampled_from(WHOLE), st.data())
def test_a_cut_document_is_refused(text: str, data: st.DataObject) -> None:
    end = data.draw(st.integers(0, len(text) - 1))
    made = judge().host(parse(text[:end].encode(), "f", "f"))
    assert isinstance(made, Refused)


VALUES = st.sampled_from([None, 3, "x", [], {}, [None], {"a": 1}, -1, True])


@given(st.sampled_from(WHOLE), st.data())
def test_a_document_with_any_value_replaced_is_judged_or_refused(
    text: str, data: st.DataObject
) -> None:
    changed = json.loads(text)
    at: Any = changed
    for _ in range(data.draw(st.integers(0, 3))):
        inner = [each for each in (at.values() if isinstance(at, dict) else at) if each]
        containers = [each for each in inner if isinstance(each, dict | list) and each]
        if not containers:
            break
        at = data.draw(st.sampled_from(containers))
    key = data.draw(st.sampled_from(sorted(at) if isinstance(at, dict) else range(len(at))))
    at[key] = copy.deepcopy(data.draw(VALUES))
    made = judge().host(document(changed))
    assert isinstance(made, Host | Refused)
    if isinstance(made, Host):
        json.dumps(asdict(made))
