"""Every public failure report that a check can see: the finding names the cause, before the hour.

One module a family of causes; each has ``CASES`` and, where a report cannot be seen beforehand,
``INVISIBLE`` with the reason. ``scripts/case_coverage.py`` holds both against a list of reports.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from tests.doctor.cases.case import Case, Invisible
from tests.doctor.machines import healthy

from dsv4_doctor.evaluation import evaluate
from dsv4_doctor.knowledge import load
from dsv4_doctor.report import Finding
from dsv4_doctor.snapshot import Snapshot
from dsv4_doctor.target import Target

_HELPERS = {"__init__", "case", "test_cases"}
FAMILIES = sorted(
    each.stem for each in Path(__file__).parent.glob("*.py") if each.stem not in _HELPERS
)
MODULES = [import_module(f"tests.doctor.cases.{name}") for name in FAMILIES]
CASES: list[Case] = [case for module in MODULES for case in module.CASES]
INVISIBLE: list[Invisible] = [
    case for module in MODULES for case in getattr(module, "INVISIBLE", ())
]


def findings(facts: Snapshot, target: Target, identifier: str) -> list[Finding]:
    report = evaluate(facts, target, load.release(target.release))
    return [each for each in report.findings if each.id == identifier]


def shown(finding: Finding) -> str:
    remedy = finding.remedy
    commands = [command.shell() for command in remedy.commands] if remedy else []
    evidence = [f"{each.what} {each.where}" for each in finding.evidence]
    parts = [finding.title, finding.found, finding.expected, *evidence, *commands]
    return " ".join([*parts, remedy.text if remedy else ""])


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.id}-{case.finding}")
def test_the_cause_is_named(case: Case) -> None:
    made = findings(case.facts, case.target, case.finding)
    matching = [each for each in made if each.status == case.status]
    assert matching, made
    text = " ".join(shown(each) for each in matching)
    assert [name for name in case.names if name not in text] == []
    assert any(each.remedy is not None for each in matching)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.id}-{case.finding}")
def test_the_healthy_machine_is_left_in_peace(case: Case) -> None:
    target = replace(case.target, archs=("sm_90",))
    made = findings(healthy(), target, case.finding)
    assert {each.status for each in made} <= {"pass", "skip", "unknown"}


def test_each_report_is_told_once_as_visible_or_not() -> None:
    visible = {case.id for case in CASES}
    hidden = [case.id for case in INVISIBLE]
    assert len(hidden) == len(set(hidden))
    assert visible & set(hidden) == set()
    assert all(case.why for case in INVISIBLE)
