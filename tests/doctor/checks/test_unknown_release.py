"""Checks against a tree that does not say everything."""

from __future__ import annotations

from dataclasses import replace

from tests.doctor.machines import healthy

from dsv4_doctor.checks.registry import Context, run_checks
from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.model import Release
from dsv4_doctor.report import Finding
from dsv4_doctor.target import Target

KNOWN = load.release("0.24.0")


def findings(release: Release, *archs: str, feature: str = "fa3") -> dict[str, Finding]:
    snapshot = replace(healthy(), python=replace(healthy().python, torch=None))  # type: ignore[type-var]
    target = Target(release.name, archs=archs, features=(feature,))
    return {each.id: each for each in run_checks(Context(snapshot, target, release))}


def with_unknown(*unknown: str) -> Release:
    changed = replace(KNOWN.features["fa3"], unknown=unknown, compute_majors=())
    return replace(KNOWN, features={**KNOWN.features, "fa3": changed})


def test_a_feature_of_which_the_gpus_are_not_known_is_no_pass() -> None:
    assert findings(KNOWN, "sm_90")["feature.fa3.arch"].status == "pass"
    found = findings(with_unknown("compute_majors"), "sm_90")
    assert found["feature.fa3.arch"].status == "unknown"


def test_what_is_known_still_refuses() -> None:
    found = findings(with_unknown("compute_majors"), "sm_80")
    assert found["feature.fa3.arch"].status in {"fail", "warn", "skip"}


def test_a_torch_of_which_nothing_is_known() -> None:
    found = findings(replace(KNOWN, torch_cuda=None, triton=None), "sm_90")
    assert found["driver.cuda.version"].status == "unknown"
    assert found["torch.build.present"].expected == "torch 2.11.0"


def test_a_triton_of_which_nothing_is_known() -> None:
    target = Target("0.24.0", archs=("sm_90",), features=("fa3",))
    context = Context(healthy(), target, replace(KNOWN, triton=None))
    found = {each.id: each for each in run_checks(context)}
    assert found["triton.build.pin"].status == "unknown"


def test_a_compiler_for_run_time_of_which_nothing_is_known() -> None:
    runtime = "feature.deep-gemm.runtime"
    server = replace(KNOWN.features["deep-gemm"], unknown=("runtime_nvcc",))
    unread = replace(KNOWN, features={**KNOWN.features, "deep-gemm": server})
    assert findings(unread, "sm_90", feature="deepseek-v4")[runtime].status == "unknown"
    assert findings(KNOWN, "sm_90", feature="deepseek-v4")[runtime].status == "pass"
