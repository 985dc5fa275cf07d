from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.build import planning
from tests.doctor import machines

from dsv4_build import plan_text
from dsv4_build.planner import make_plan
from dsv4_doctor.errors import BuildError, InputError, UsageError
from dsv4_doctor.facts.build_tools import BuildTool
from dsv4_doctor.facts.compiler import HostCompilers
from dsv4_doctor.facts.python import Distribution
from dsv4_doctor.facts.toolkit import Picks, Toolkits
from dsv4_doctor.snapshot import Snapshot


def test_nothing_named_shows_both_ways(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing to build") as caught:
        planning.plan(tmp_path, recipe=None)
    assert "--recipe smoke" in str(caught.value)
    assert "--vllm PATH" in str(caught.value)


def test_two_trees_are_one_too_many(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="two trees"):
        planning.plan(tmp_path, vllm="0.24.0")


def test_an_unknown_recipe_lists_those_that_exist(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="known: smoke"):
        planning.plan(tmp_path, recipe="vllm")


def test_a_release_without_its_source_says_where_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs its source tree") as caught:
        planning.plan(tmp_path, recipe=None, vllm="0.24.0")
    assert "vllm-0.24.0.tar.gz" in caught.value.hint
    assert "git clone --branch v0.24.0" in caught.value.hint


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        planning.plan(tmp_path, recipe=None, vllm=str(tmp_path / "vllm.tar.gz"))


def test_a_broken_sdist_is_named(tmp_path: Path) -> None:
    (tmp_path / "vllm-0.24.0.tar.gz").write_bytes(b"\x1f\x8b broken")
    with pytest.raises(InputError, match=r"vllm-0\.24\.0\.tar\.gz"):
        planning.plan(tmp_path, recipe=None, vllm=str(tmp_path / "vllm-0.24.0.tar.gz"))


def test_the_smoke_tree_proves_both_families_on_hopper(tmp_path: Path) -> None:
    assert planning.plan(tmp_path).scope.require == ("paged-v2", "fa3", "sm_90", "sm_90a")


def test_without_hopper_only_what_is_built_is_proved(tmp_path: Path) -> None:
    assert planning.plan(tmp_path, archs=("sm_80",)).scope.require == ("paged-v2", "sm_80")


def test_asking_for_fa3_without_hopper_is_refused_before_anything_is_built(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="code for sm_90a, not for sm_80") as caught:
        planning.plan(tmp_path, archs=("sm_80",), features=("fa3",))
    assert "--arch sm_90" in caught.value.hint


def test_the_proof_takes_what_inspect_takes(tmp_path: Path) -> None:
    plan = planning.plan(tmp_path, features=("fa3,paged-v2,sm_90a",))
    assert plan.scope.require == ("fa3", "paged-v2", "sm_90a", "sm_90")
    assert planning.plan(tmp_path, features=("compute_90",)).scope.require[-1] == "compute_90"
    with pytest.raises(UsageError, match="unknown requirement 'sm_91'"):
        planning.plan(tmp_path, features=("sm_91",))
    with pytest.raises(UsageError, match="unknown feature 'fa9'"):
        planning.plan(tmp_path, features=("fa9",))


def test_a_suffix_is_for_the_kernels_and_the_proof(tmp_path: Path) -> None:
    plan = planning.plan(tmp_path, archs=("sm_90a",))
    assert [arch.sm for arch in plan.scope.archs] == ["sm_90"]
    assert "sm_90a" in plan.scope.require
    assert any("sm_90a was asked for" in note for note in plan.notes)


def test_the_gpus_decide_when_no_architecture_is_named(tmp_path: Path) -> None:
    assert [arch.sm for arch in planning.plan(tmp_path, archs=()).scope.archs] == ["sm_90"]
    bare = planning.machine(gpus=())
    with pytest.raises(UsageError, match="no architecture"):
        make_plan(planning.request(archs=()), bare, planning.around(tmp_path))


def test_a_feature_that_the_release_lost_is_told_with_its_place(tmp_path: Path) -> None:
    tree = planning.vllm_tree(tmp_path, "0.33.0")
    with pytest.raises(UsageError, match=r"vLLM 0\.33\.0 has no paged-v2") as caught:
        make_plan(
            planning.vllm_request(tree, features=("paged-v2",)),
            planning.machine(),
            planning.around(tmp_path),
        )
    assert "0.24.0" in str(caught.value)


def test_a_whole_vllm_build_proves_what_a_binary_can_prove(tmp_path: Path) -> None:
    request = planning.vllm_request(planning.vllm_tree(tmp_path))
    plan = make_plan(request, planning.machine(), planning.around(tmp_path))
    assert [feature.name for feature in plan.scope.features] == ["fa3", "paged-v2"]
    assert plan.choices.toolchain.kind == "system"


def test_a_narrowed_build_proves_what_it_is_narrowed_to(tmp_path: Path) -> None:
    request = planning.vllm_request(planning.vllm_tree(tmp_path), only=("paged_attention_v2.cu",))
    plan = make_plan(request, planning.machine(), planning.around(tmp_path))
    assert plan.scope.require == ("paged-v2", "sm_90")
    assert "flashmla" in {project.name for project in plan.scope.left_out}
    with pytest.raises(UsageError, match="not part of what --only names"):
        make_plan(
            replace(request, features=("fa3",)), planning.machine(), planning.around(tmp_path)
        )


def test_the_torch_of_the_environment_decides_the_cuda_major(tmp_path: Path) -> None:
    old = machines.toolkit("12.4", "/usr/local/cuda-12.4", gcc_max=13)
    toolkits = Toolkits(None, (old,), Picks(None, None, None))
    request = planning.vllm_request(planning.vllm_tree(tmp_path))
    snapshot = planning.machine(toolkits=toolkits)
    plan = make_plan(request, snapshot, planning.around(tmp_path))
    assert plan.choices.toolchain.kind == "pypi"
    assert "which torch was built with" in plan.choices.toolchain.because


def test_the_floor_of_the_release_decides_the_compiler(tmp_path: Path) -> None:
    found = (
        *(machines.compiler("10.2.0", f"/usr/bin/{kind}", kind) for kind in ("gcc", "g++")),
        *(machines.compiler("12.2.0", f"/usr/bin/{kind}-12", kind) for kind in ("gcc", "g++")),
    )
    compilers = HostCompilers(found, found[0], "PATH")
    request = planning.vllm_request(planning.vllm_tree(tmp_path))
    plan = make_plan(request, planning.machine(compilers=compilers), planning.around(tmp_path))
    assert plan.choices.compiler.cxx == "/usr/bin/g++-12"


@pytest.mark.parametrize("section", ["compilers", "python"])
def test_a_probe_that_did_not_answer_stops_the_plan(tmp_path: Path, section: str) -> None:
    snapshot = machines.failed(planning.machine(), section, "no answer within 5 s")
    with pytest.raises(BuildError, match="no answer within 5 s"):
        make_plan(planning.request(), snapshot, planning.around(tmp_path))


def test_without_a_schedule_memory_and_processors_decide_the_jobs(tmp_path: Path) -> None:
    host = planning.machine().host
    assert host is not None
    request, around = planning.request(schedule=False), planning.around(tmp_path)
    small = planning.machine(host=replace(host, cpus=32, memory_available=3 << 30))
    jobs = make_plan(request, small, around).choices.jobs
    assert (jobs.count, jobs.window, jobs.scheduled) == (3, 3, False)
    assert planning.plan(tmp_path, jobs=7, schedule=False).choices.jobs.window == 7
    tight = planning.machine(host=replace(host, memory_available=1))
    assert make_plan(request, tight, around).choices.jobs.count == 1


def test_with_a_schedule_every_processor_may_be_used_and_ninja_hands_over_more(
    tmp_path: Path,
) -> None:
    host = planning.machine().host
    assert host is not None
    small = planning.machine(host=replace(host, cpus=32, memory_available=3 << 30))
    jobs = make_plan(planning.request(), small, planning.around(tmp_path)).choices.jobs
    assert jobs.count == 32
    assert jobs.window > 32
    assert planning.plan(tmp_path, jobs=7).choices.jobs.count == 7


def test_equal_inputs_have_equal_keys_and_one_place(tmp_path: Path) -> None:
    first, second = planning.plan(tmp_path), planning.plan(tmp_path, jobs=3, out=Path("other"))
    assert [step.key for step in first.steps] == [step.key for step in second.steps]
    assert first.work == second.work


def test_what_changes_the_result_changes_the_key(tmp_path: Path) -> None:
    plain = planning.plan(tmp_path).step("compile").key
    around = planning.around(tmp_path)
    tools = (
        BuildTool("cmake", "/usr/bin/cmake", "4.2.0"),
        BuildTool("ninja", "/usr/bin/ninja", "1.13.0"),
    )
    others = [
        planning.plan(tmp_path, archs=("sm_80",)),
        planning.plan(tmp_path, only=("fa3",)),
        planning.plan(tmp_path, toolchain="pypi"),
        make_plan(planning.request(), planning.machine(build_tools=tools), around),
        make_plan(planning.request(), _with_torch("2.11.0+cu129", "12.9"), around),
        make_plan(planning.request(), _with_torch("2.11.0+cu130", "13.1"), around),
        make_plan(planning.request(), _with_setuptools("80.9.1"), around),
    ]
    keys = {plain, *(plan.step("compile").key for plan in others)}
    assert len(keys) == 8


def _with_torch(version: str, cuda: str) -> Snapshot:
    python = planning.machine().python
    assert python is not None
    assert python.torch is not None
    torch = replace(python.torch, version=version, cuda=cuda)
    return planning.machine(python=replace(python, torch=torch))


def _with_setuptools(version: str) -> Snapshot:
    python = planning.machine().python
    assert python is not None
    setuptools = Distribution("setuptools", version, "/site-packages")
    others = tuple(each for each in python.distributions if each.name != "setuptools")
    return planning.machine(python=replace(python, distributions=(*others, setuptools)))


def test_what_no_build_uses_changes_no_key(tmp_path: Path) -> None:
    python = planning.machine().python
    assert python is not None
    more = (*python.distributions, Distribution("ray", "2.0", "/site-packages"))
    around = planning.around(tmp_path)
    other = planning.machine(python=replace(python, distributions=more))
    keys = {
        make_plan(planning.request(), each, around).step("compile").key
        for each in (planning.machine(), other)
    }
    assert len(keys) == 1


def test_the_plan_is_json_and_text(tmp_path: Path) -> None:
    request = planning.vllm_request(planning.vllm_tree(tmp_path), only=("fa3",))
    plan = make_plan(request, planning.machine(), planning.around(tmp_path, CPATH="/x"))
    data = json.loads(json.dumps(plan.to_json()))
    assert data["schema"] == "dsv4-doctor/plan/1"
    assert data["release"] == "0.24.0"
    assert [step["name"] for step in data["steps"]] == [
        "source",
        "toolchain",
        "compile",
        "collect",
        "proof",
    ]
    text = plan_text.render(plan)
    assert "left out" in text
    assert "CPATH is removed" in text
    assert plan.steps[-1].key[:16] in text


def test_planning_writes_nothing(tmp_path: Path) -> None:
    planning.plan(tmp_path, toolchain="pypi")
    assert not (tmp_path / "cache").exists()


def test_checks_see_the_machine_as_the_build_will(tmp_path: Path) -> None:
    bare = planning.machine(toolkits=Toolkits(None, (), Picks(None, None, None)), environment={})
    plan = make_plan(planning.request(), bare, planning.around(tmp_path))
    seen = plan.facts
    assert seen.toolkits is not None
    assert seen.toolkits.cuda_home is not None
    assert seen.toolkits.cuda_home.value == plan.choices.toolchain.root
    assert seen.toolkits.picks.torch == plan.choices.toolchain.root
    assert seen.toolkits.found[0].nvcc_version == "13.0.88"
    assert seen.compilers is not None
    assert seen.compilers.used == planning.GXX
    assert (seen.environment or {})["CUDA_HOME"] == plan.choices.toolchain.root


def test_a_work_directory_of_ones_own_is_not_at_the_fixed_place(tmp_path: Path) -> None:
    around = replace(planning.around(tmp_path), paths=lambda wish: ("fixed", "no namespace"))
    made = make_plan(planning.request(), planning.machine(), around)
    assert (made.work, made.view.kind) == ("/var/tmp/dsv4-doctor/work", "fixed")
    request = planning.request(work_dir=tmp_path / "w")
    assert make_plan(request, planning.machine(), around).view.kind == "own"
    with pytest.raises(UsageError, match="--work-dir"):
        make_plan(replace(request, paths="fixed"), planning.machine(), around)


def test_the_programs_get_the_names_and_the_preflight_the_machine(tmp_path: Path) -> None:
    around = replace(planning.around(tmp_path), paths=lambda wish: ("namespace", ""))
    made = make_plan(
        planning.vllm_request(planning.vllm_tree(tmp_path)), planning.machine(), around
    )
    values = {each.name: each.value for each in made.environment.set}
    assert values["FETCHCONTENT_BASE_DIR"] == "/var/tmp/dsv4-doctor/work/deps"
    assert "/var/tmp/dsv4-doctor/work/tools" in values["PATH"].split(":")
    assert f"{made.work}/tools" in (made.facts.environment or {})["PATH"].split(":")
