"""A check reads the sections that it says and no others, and gives the finding of its id."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any

import pytest
from tests.doctor import faulty
from tests.doctor.cases.test_cases import CASES
from tests.doctor.machines import bare, failed, healthy

from dsv4_doctor.checks.registry import Check, Context, NotKnownError, all_checks
from dsv4_doctor.knowledge import load
from dsv4_doctor.snapshot import Snapshot
from dsv4_doctor.target import PURPOSES, Target

_HEAD = {"taken_at", "tool_version", "probes", "schema"}
SECTIONS = {each.name for each in fields(Snapshot)} - _HEAD
DECLARED = [each for each in all_checks() if each.reads]


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
def touched() -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Return the sections that each check looked at, and the ids of the findings that it gave."""
    seen: dict[str, set[str]] = {each.id: set() for each in DECLARED}
    given: dict[str, set[str]] = {each.id: set() for each in DECLARED}
    release = load.release("0.24.0")
    whole = [healthy(), bare(), *faulty.machines()]
    damaged = [failed(each, name, "it hangs") for each in whole for name in sorted(SECTIONS)]
    for machine in (*whole, *damaged, *(case.facts for case in CASES)):
        for purpose in PURPOSES:
            for archs in ((), ("sm_90",)):
                target = Target("0.24.0", archs, ("deepseek-v4", "fa3"), purpose)
                for each in DECLARED:
                    watched = Watched(machine)
                    given[each.id] |= run(each, Context(watched, target, release))  # type: ignore[arg-type]
                    seen[each.id] |= watched.seen
    return seen, given


def run(check: Check, context: Context) -> set[str]:
    try:
        return {finding.id for finding in check.rule(context)}
    except NotKnownError:
        return set()


@pytest.mark.parametrize("check", DECLARED, ids=lambda check: check.id)
def test_it_reads_what_it_says_and_gives_its_finding(check: Check) -> None:
    seen, given = touched()
    assert check.reads == tuple(sorted(seen[check.id]))
    assert given[check.id] == {check.id}


@pytest.mark.parametrize("check", DECLARED, ids=lambda check: check.id)
def test_it_tells_how_to_mend_it(check: Check) -> None:
    assert check.fix.endswith(".")
    assert len(set(check.reports)) == len(check.reports)
