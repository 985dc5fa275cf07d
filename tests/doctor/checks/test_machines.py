"""Whole reports: a healthy machine, a bare one, a stored one with nothing in it."""

from __future__ import annotations

import pytest
from tests.doctor.machines import SECTIONS, bare, failed, healthy

from dsv4_doctor.checks.registry import Context, run_checks
from dsv4_doctor.knowledge import load
from dsv4_doctor.report import Finding, Report
from dsv4_doctor.snapshot import Snapshot
from dsv4_doctor.target import PURPOSES, Purpose, Target

FEATURES = ("deepseek-v4", "fa3", "paged-v2")


def report(
    snapshot: Snapshot, purpose: Purpose = "build", release: str = "0.24.0", arch: str = "sm_90"
) -> Report:
    target = Target(release, (arch,), FEATURES, purpose)
    context = Context(snapshot, target, load.release(release))
    return Report("0", "host", snapshot.taken_at, target, run_checks(context))


def by_status(findings: tuple[Finding, ...], status: str) -> set[str]:
    return {finding.id for finding in findings if finding.status == status}


def test_healthy_h200_for_building_warns_only_of_the_link() -> None:
    made = report(healthy())
    assert by_status(made.findings, "fail") == set()
    assert by_status(made.findings, "unknown") == set()
    assert by_status(made.findings, "warn") == {"cuda.home.symlink"}
    assert made.verdict == "pass"
    assert made.exit_code() == 0
    assert made.exit_code(strict=True) == 1


def test_healthy_h200_shows_the_whole_chain_of_links() -> None:
    [finding] = [each for each in report(healthy()).findings if each.id == "cuda.home.symlink"]
    assert finding.found == "/usr/local/cuda -> /etc/alternatives/cuda -> /usr/local/cuda-13.0"
    assert finding.remedy is not None
    assert finding.remedy.commands[0].env == {
        "CUDA_HOME": "/usr/local/cuda-13.0",
        "PATH": "/usr/local/cuda-13.0/bin:$PATH",
    }


def test_serving_needs_what_building_does_not() -> None:
    for_build = by_status(report(bare()).findings, "fail")
    for_serving = by_status(report(bare(), "serve").findings, "fail")
    only_serving = {"gpu.device.present", "driver.nvidia.present", "vllm.install.release"}
    assert only_serving & for_build == set()
    assert only_serving <= for_serving
    assert "cuda.toolkit.present" in for_build & for_serving


def test_a_bare_machine_gets_a_clear_finding_for_each_thing_that_is_not_there() -> None:
    findings = {finding.id: finding for finding in report(bare(), "all").findings}
    for identifier in (
        "driver.nvidia.present",
        "gpu.device.present",
        "cuda.toolkit.present",
        "torch.build.present",
        "vllm.install.release",
    ):
        assert findings[identifier].status in {"warn", "fail"}
        assert findings[identifier].found.startswith("none")
        assert findings[identifier].remedy is not None


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("purpose", PURPOSES)
def test_a_probe_that_failed_is_unknown_with_its_name_and_time(
    section: str, purpose: Purpose
) -> None:
    made = report(failed(healthy(), section, "no answer within 5 s"), purpose)
    unknown = [finding for finding in made.findings if finding.status == "unknown"]
    # No check is decided by these alone, or not for this purpose.
    undecided = {"pci", "topology", "containers"}
    if purpose == "serve":
        undecided |= {"build_tools", "build_tree"}
    if section in undecided:
        assert not unknown
        return
    assert unknown
    for finding in unknown:
        assert section in finding.found
        assert "no answer within 5 s" in finding.found
        assert any("5.0 s" in evidence.where for evidence in finding.evidence)
    assert made.exit_code() in {1, 3}
    assert made.verdict != "pass"


def test_an_empty_snapshot_passes_nothing_that_needs_facts() -> None:
    made = report(Snapshot("", "", ()), "all")
    passed = by_status(made.findings, "pass")
    assert {identifier.split(".")[0] for identifier in passed} <= {"feature", "arch"}, passed
    assert by_status(made.findings, "fail") == set()
    assert made.exit_code() == 3


def test_every_finding_of_every_machine_is_complete() -> None:
    for snapshot in (healthy(), bare(), Snapshot("", "", ())):
        for purpose in PURPOSES:
            for finding in report(snapshot, purpose).findings:
                assert finding.id.count(".") == 2
                assert finding.title
                if finding.status == "fail":
                    assert finding.remedy is not None, finding
                    assert finding.evidence or finding.source, finding
