"""What a check says that it reads is what it looks at, over all machines that the tests have."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any

import pytest
from tests.doctor import faulty
from tests.doctor.cases.test_cases import CASES
from tests.doctor.checks.test_missing_facts import serving
from tests.doctor.machines import bare, failed, healthy

from dsv4_doctor.checks.registry import Check, Context, NotKnownError, all_checks
from dsv4_doctor.knowledge import load
from dsv4_doctor.snapshot import Snapshot
from dsv4_doctor.target import PURPOSES, Target

SECTIONS = {each.name for each in fields(Snapshot)} - {
    "taken_at",
    "tool_version",
    "probes",
    "schema",
}
TOLD = [each for each in all_checks() if each.reads]


class Watched:
    """A snapshot that writes down which of its sections were looked at."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.seen: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        if name in SECTIONS:
            self.seen.add(name)
        return getattr(self.snapshot, name)


@cache
def touched() -> dict[str, set[str]]:
    """Return the sections that each check looked at."""
    features = ("deepseek-v4", "fa3")
    machines = [(case.facts, case.target) for case in CASES]
    for machine in (healthy(), bare(), serving(), Snapshot("", "", ())):
        for purpose in PURPOSES:
            target = Target("0.24.0", ("sm_90",), features, purpose)
            machines += [(machine, target)]
            machines += [(failed(machine, name, "it hangs"), target) for name in SECTIONS]
    for machine in faulty.machines():
        for purpose in PURPOSES:
            machines += [(machine, Target("0.24.0", (), features, purpose))]
    seen: dict[str, set[str]] = {each.id: set() for each in all_checks()}
    for facts, target in machines:
        for each in all_checks():
            watched = Watched(facts)
            context = Context(watched, target, load.release(target.release))  # type: ignore[arg-type]
            look(each, context)
            seen[each.id] |= watched.seen
    return seen


def look(each: Check, context: Context) -> None:
    try:
        list(each.rule(context))
    except NotKnownError:
        return


@pytest.mark.parametrize("check", TOLD, ids=lambda check: check.id)
def test_it_reads_what_it_says_and_nothing_else(check: Check) -> None:
    assert list(check.reads) == sorted(touched()[check.id])


@pytest.mark.parametrize("check", TOLD, ids=lambda check: check.id)
def test_everything_is_told_of_it(check: Check) -> None:
    first, _, why = check.summary.partition("\n\n")
    assert first.startswith("Whether ")
    assert why.strip()
    assert check.fix.endswith(".")
    assert len(set(check.reports)) == len(check.reports)
