from __future__ import annotations

import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from tests.build import planning
from tests.build.trial.extensions import extension
from tests.doctor import machines

from dsv4_build.plan import Plan
from dsv4_build.planner import make_plan
from dsv4_build.trial import gpu
from dsv4_build.trial.run import Module, Outcome
from dsv4_doctor.errors import BuildError, UsageError
from dsv4_doctor.snapshot import Snapshot


def _plan(tmp_path: Path, machine: Snapshot, **changes: object) -> Plan:
    request = planning.request(gpu_test=True, **changes)
    return make_plan(request, machine, planning.around(tmp_path))


def _hopper() -> Snapshot:
    return planning.machine(gpus=(machines.gpu(compute_capability="9.0"),))


def test_a_plan_names_what_will_run(tmp_path: Path) -> None:
    plan = _plan(tmp_path, _hopper())
    assert plan.to_json()["gpu_tests"] == [
        "paged_attention_v2",
        "FlashAttention-3 forward",
        "FlashAttention-3 forward, causal",
    ]


def test_nothing_runs_unless_it_is_asked_for(tmp_path: Path) -> None:
    assert planning.plan(tmp_path).gpu_tests == ()


def test_without_a_gpu_the_build_does_not_begin(tmp_path: Path) -> None:
    for machine in (planning.machine(gpus=()), planning.machine(gpus=None)):
        with pytest.raises(BuildError, match="this machine has no GPU"):
            _plan(tmp_path, machine)


def test_a_gpu_that_is_not_built_for_is_said_before_the_build(tmp_path: Path) -> None:
    machine = planning.machine(gpus=(machines.gpu(compute_capability="8.0"),))
    with pytest.raises(BuildError, match="the first GPU is sm_80, and the build is for sm_90"):
        _plan(tmp_path, machine)


def test_a_build_that_has_nothing_to_run_is_refused(tmp_path: Path) -> None:
    tree = planning.vllm_tree(tmp_path)
    request = planning.vllm_request(tree, gpu_test=True, only=("_moe_C_stable_libtorch",))
    with pytest.raises(UsageError, match="nothing that is built has a test"):
        make_plan(request, _hopper(), planning.around(tmp_path))


def test_vllm_is_run_from_the_modules_of_its_release(tmp_path: Path) -> None:
    request = planning.vllm_request(planning.vllm_tree(tmp_path), gpu_test=True)
    plan = make_plan(request, _hopper(), planning.around(tmp_path))
    assert {(case.feature, case.module) for case in plan.gpu_tests} == {
        ("paged-v2", "_C_stable_libtorch"),
        ("fa3", "_vllm_fa3_C"),
    }


@pytest.mark.real
def test_a_module_without_the_kernels_fails_and_every_case_is_named(tmp_path: Path) -> None:
    plan = _here(_plan(tmp_path, _hopper()))
    modules = [Module(name, str(extension(tmp_path, name))) for name in ("_C", "_fa3_C")]
    with pytest.raises(BuildError, match="gpu-test") as caught:
        gpu.test_modules(plan, modules)
    assert all(case.name in str(caught.value) for case in plan.gpu_tests)


@pytest.mark.real
def test_a_wheel_is_run_from_its_own_modules(tmp_path: Path) -> None:
    plan = _here(_plan(tmp_path, _hopper()))
    wheel = tmp_path / "dsv4_smoke-1.0.0-cp310-abi3-linux_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in ("_C", "_fa3_C"):
            archive.write(extension(tmp_path, name), f"dsv4_smoke/{name}.abi3.so")
    with pytest.raises(BuildError, match="has no attribute 'paged_attention_v2'"):
        gpu.test_wheel(plan, wheel, tmp_path / "scratch")


def _here(plan: Plan) -> Plan:
    """The plan with the interpreter of these tests."""
    python = replace(plan.choices.python, executable=sys.executable)
    return replace(plan, choices=replace(plan.choices, python=python))


def test_an_error_beyond_the_tolerance_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = _plan(tmp_path, _hopper())
    _answers(monkeypatch, plan, error=1.0)
    with pytest.raises(BuildError, match=r"error 1.00e\+00, at most 1.00e-03 allowed"):
        gpu.test_modules(plan, [])


def test_one_within_it_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = _plan(tmp_path, _hopper())
    _answers(monkeypatch, plan, error=1e-4)
    tried = gpu.test_modules(plan, [])
    assert [each.name for each in tried] == [case.name for case in plan.gpu_tests]
    assert tried[0].to_json() == {
        "name": "paged_attention_v2",
        "feature": "paged-v2",
        "error": 1e-4,
        "tolerance": 1e-3,
        "seconds": 2.0,
    }


def _answers(monkeypatch: pytest.MonkeyPatch, plan: Plan, *, error: float) -> None:
    told = tuple(
        Outcome(case.name, error=error, tolerance=1e-3, seconds=2.0) for case in plan.gpu_tests
    )
    monkeypatch.setattr(gpu, "run_child", lambda *_, **__: told)
