from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.build import planning

from dsv4_build import preflight
from dsv4_build.estimating import room
from dsv4_build.estimating.estimate import Estimate, estimate
from dsv4_build.plan import Plan
from dsv4_doctor.cli.building import preflight as checks
from dsv4_doctor.errors import BuildError
from dsv4_doctor.facts.resources import Resources

GIB = 1 << 30


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return planning.plan(tmp_path)


def with_memory(plan: Plan, available: int, swap: int = 0) -> Plan:
    host = plan.facts.host
    assert host is not None
    facts = replace(plan.facts, host=replace(host, memory=8 * GIB, memory_available=available))
    return replace(plan, facts=replace(facts, resources=Resources(swap=swap)))


def of(plan: Plan, tmp_path: Path) -> Estimate:
    return estimate(plan, tmp_path / "cache")


def status(plan: Plan, found: Estimate, identifier: str) -> str:
    return next(each.status for each in room.findings(plan, found) if each.id == identifier)


def test_memory_for_the_largest_unit_decides_and_swap_counts(plan: Plan, tmp_path: Path) -> None:
    found = of(plan, tmp_path)
    assert status(with_memory(plan, 300 << 20), found, room.MEMORY) == "pass"
    assert status(with_memory(plan, 200 << 20), found, room.MEMORY) == "fail"
    assert status(with_memory(plan, 200 << 20, swap=GIB), found, room.MEMORY) == "pass"


def test_the_build_is_refused_with_figures_before_it_starts(plan: Plan, tmp_path: Path) -> None:
    tight = with_memory(plan, 100 << 20)
    report = room.added(checks(tight), tight, of(plan, tmp_path))
    with pytest.raises(BuildError) as caught:
        preflight.judge(report, plan.tree.recipe, ())
    message = str(caught.value)
    assert "flash_fwd_sm90.cu needs about 0.2 GiB, and 0.1 of 8.0 GiB of memory" in message
    assert room.MEMORY in caught.value.hint
    forced = preflight.judge(report, plan.tree.recipe, (room.MEMORY,))
    assert [each.id for each in forced] == [room.MEMORY]


@pytest.mark.parametrize(
    ("free", "expected"), [(GIB, "pass"), (15 << 20, "warn"), (14 << 20, "fail")]
)
def test_disk_for_the_first_unit_is_needed_and_for_all_is_told(
    plan: Plan, tmp_path: Path, free: int, expected: str
) -> None:
    found = of(plan, tmp_path)
    disk = tuple(replace(each, free=free) for each in found.disk)
    assert status(plan, replace(found, disk=disk), room.DISK) == expected
    report = room.added(checks(plan), plan, replace(found, disk=disk))
    assert [each.id for each in room.warnings(report)] == [room.DISK] * (expected == "warn")


def test_directories_of_one_file_system_share_its_room(plan: Plan, tmp_path: Path) -> None:
    (work,) = of(plan, tmp_path).disk
    both = (
        replace(work, bytes=GIB, least=GIB, free=3 * GIB // 2, device=1),
        replace(work, what="toolkit", bytes=GIB, least=GIB, free=3 * GIB // 2, device=1),
    )
    found = replace(of(plan, tmp_path), disk=both)
    (finding,) = [each for each in room.findings(plan, found) if each.id == room.DISK]
    assert (finding.status, len(finding.evidence)) == ("fail", 2)
    apart = (both[0], replace(both[1], device=2))
    findings = room.findings(plan, replace(found, disk=apart))
    assert [each.status for each in findings if each.id == room.DISK] == ["pass", "pass"]


def test_what_cannot_be_told_refuses_nothing(plan: Plan, tmp_path: Path) -> None:
    found = of(plan, tmp_path)
    disk = tuple(replace(each, free=None) for each in found.disk)
    bare = replace(plan, facts=replace(plan.facts, host=None))
    assert room.findings(bare, replace(found, disk=disk)) == ()


def test_a_toolkit_that_is_to_be_assembled_needs_room_too(tmp_path: Path) -> None:
    plan = planning.plan(tmp_path, toolchain="pypi")
    uses = of(plan, tmp_path).disk
    assert [each.what for each in uses] == ["work directory", "toolkit from PyPI"]
    assert all(each.free is not None for each in uses)
