"""What is told of a check is true: the sections that it reads, the findings that it gives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from tests.doctor.cases.test_cases import CASES
from tests.doctor.checks.test_missing_facts import serving
from tests.doctor.faulty import machines as faulty_machines
from tests.doctor.machines import bare, compiler, failed, gpu, healthy, python_environment, toolkit

from dsv4_doctor.checks.catalogue import address, entry, section
from dsv4_doctor.checks.registry import Check, Context, NotKnownError, all_checks
from dsv4_doctor.facts.build_tools import BuildTool
from dsv4_doctor.facts.compiler import HostCompilers
from dsv4_doctor.facts.toolkit import Picks, Toolkits
from dsv4_doctor.knowledge import load
from dsv4_doctor.probes.registry import PROBES
from dsv4_doctor.report import Finding
from dsv4_doctor.snapshot import Snapshot
from dsv4_doctor.target import PURPOSES, Target

SECTIONS = {probe.name for probe in PROBES}
REPORT = re.compile(r"[\w.-]+/[\w.-]+#\d+|https?://\S+")


class Watched:
    """A snapshot that writes down which of its sections were looked at."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.seen: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        if name in SECTIONS:
            self.seen.add(name)
        return getattr(self.snapshot, name)


def machines() -> Iterator[Snapshot]:
    """Yield machines on which the checks go different ways, and each with one section missing."""
    old = compiler("9.4.0")
    faulty = healthy(
        compilers=HostCompilers((old,), old, "PATH"),
        toolkits=Toolkits(None, (toolkit("12.0", gcc_max=12),), Picks(None, None, None)),
        gpus=(gpu(capability="12.0"),),
        python=python_environment(headers=None, version="3.8.1"),
        build_tools=tuple(BuildTool(name, None, None) for name in ("cmake", "ninja", "git")),
    )
    new = compiler("99.1.0")
    newer = healthy(compilers=HostCompilers((new,), new, "PATH"), build_tools=None)
    empty = bare(compilers=HostCompilers((), None, None))
    yield from faulty_machines()
    yield Snapshot("", "", ())
    yield Snapshot("", "", (), foreign="macOS")
    for machine in (healthy(), bare(), serving(), faulty, newer, empty):
        yield machine
        for name in SECTIONS:
            yield failed(machine, name, "it hangs")


@cache
def touched() -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Return the sections that each check looked at, and the ids of the findings that it gave."""
    seen: dict[str, set[str]] = {each.id: set() for each in all_checks()}
    given: dict[str, set[str]] = {each.id: set() for each in all_checks()}
    features = ("deepseek-v4", "fa3", "paged-v2")
    asked = [(case.facts, case.target) for case in CASES]
    asked += [
        (machine, Target("0.24.0", archs, features, purpose, "article"))
        for machine in machines()
        for purpose in PURPOSES
        for archs in ((), ("sm_90",))
    ]
    for machine, target in asked:
        release = load.release(target.release)
        for each in all_checks():
            watched = Watched(machine)
            context = Context(watched, target, release)  # type: ignore[arg-type]
            given[each.id] |= run(each, context)
            seen[each.id] |= watched.seen
    return seen, given


def run(check: Check, context: Context) -> set[str]:
    try:
        return {finding.id for finding in check.rule(context)}
    except NotKnownError:
        return set()


@pytest.mark.parametrize("check", all_checks(), ids=lambda check: check.id)
def test_it_reads_nothing_but_what_it_says(check: Check) -> None:
    seen, _ = touched()
    assert sorted(check.reads) == list(check.reads)
    assert seen[check.id] <= set(check.reads)


def test_what_it_says_that_it_reads_is_read() -> None:
    """A section that no machine here leads to would be one that nobody looks at."""
    seen, _ = touched()
    loose = {each.id: (set(each.reads) & SECTIONS) - seen[each.id] for each in all_checks()}
    assert {name: sections for name, sections in loose.items() if sections} == {}


@pytest.mark.parametrize("check", all_checks(), ids=lambda check: check.id)
def test_it_gives_the_findings_that_it_says(check: Check) -> None:
    _, given = touched()
    assert given[check.id] <= set(check.findings)


@pytest.mark.parametrize("check", all_checks(), ids=lambda check: check.id)
def test_everything_is_told_of_it(check: Check) -> None:
    told = entry(check)
    assert all(name.count(".") == 2 for name in (told.id, *told.findings))
    assert told.decides.startswith("Whether ")
    assert told.decides.endswith(".")
    assert told.why
    assert "Findings:" not in told.why
    assert told.fix.endswith(".")
    assert [each for each in told.reports if not REPORT.fullmatch(each)] == []
    assert len(set(told.reports)) == len(told.reports)


def test_no_two_checks_give_the_same_finding() -> None:
    ids = [name for each in all_checks() for name in {each.id, *each.findings}]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", sorted(SECTIONS))
def test_a_section_says_what_its_probe_reads(name: str) -> None:
    told = section(name)
    assert told
    assert not told.endswith(".")


def test_a_report_has_an_address() -> None:
    assert address("a/b.c#12") == "https://github.com/a/b.c/issues/12"
    assert address("https://example.org/x") == "https://example.org/x"


def test_a_section_that_is_not_declared_is_seen() -> None:
    def rule(context: Context) -> Iterator[Finding]:
        if context.snapshot.gpus:
            yield Finding("a.b.c", "pass", "x")

    watched = Watched(healthy())
    context = Context(watched, Target("0.24.0"), load.release("0.24.0"))  # type: ignore[arg-type]
    assert run(Check("a.b.c", "x", rule), context) == {"a.b.c"}
    assert watched.seen == {"gpus"}
