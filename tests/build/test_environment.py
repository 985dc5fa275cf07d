from __future__ import annotations

import json
from pathlib import Path

from tests.build import planning

from dsv4_build.environment import Environment, Variable
from dsv4_build.planner import make_plan
from dsv4_doctor.facts.build_tools import BuildTool


def _values(environment: Environment) -> dict[str, str]:
    return {each.name: each.value for each in environment.set}


def test_the_toolkit_and_the_compiler_agree_everywhere(tmp_path: Path) -> None:
    plan = planning.plan(tmp_path)
    values = _values(plan.environment)
    root = plan.choices.toolchain.root
    assert values["CUDA_HOME"] == root
    assert values["CUDACXX"] == f"{root}/bin/nvcc"
    assert values["PATH"].split(":")[0] == f"{root}/bin"
    assert values["CXX"] == values["CUDAHOSTCXX"] == values["NVCC_CCBIN"] == "/usr/bin/g++"
    assert values["CC"] == "/usr/bin/gcc"
    assert values["TORCH_CUDA_ARCH_LIST"] == "9.0"


def test_what_would_change_the_result_unseen_is_removed(tmp_path: Path) -> None:
    around = planning.around(
        tmp_path, CPATH="/opt/include", CFLAGS="-O0", PYTHONPATH="/x", HOME="/home/me", CXX="clang"
    )
    plan = make_plan(planning.request(), planning.machine(), around)
    assert {each.name for each in plan.environment.removed} == {"CPATH", "CFLAGS", "PYTHONPATH"}
    assert all(each.why for each in plan.environment.removed)
    applied = plan.environment.apply(around.environ)
    assert "CPATH" not in applied
    assert applied["HOME"] == "/home/me"
    assert applied["CXX"] == "/usr/bin/g++"


def test_only_what_is_listed_reaches_a_build(tmp_path: Path) -> None:
    override = "VLLM_FLASH_ATTN_SRC_DIR"
    around = planning.around(
        tmp_path,
        CCACHE_DIR="/c",
        GIT_DIR="/g",
        GIT_SSH_COMMAND="ssh",
        NOBODY_KNOWS="1",
        **{override: "/x"},
    )
    environment = make_plan(planning.request(), planning.machine(), around).environment
    applied = environment.apply(around.environ)
    assert applied["GIT_SSH_COMMAND"] == "ssh"
    assert applied["CCACHE_DIR"] == "/c"
    assert {"GIT_DIR", "NOBODY_KNOWS", override}.isdisjoint(applied)
    assert environment.unlisted == ("NOBODY_KNOWS", override)
    assert [each.name for each in environment.harmful] == ["GIT_DIR"]


def test_credentials_of_s3_reach_a_build_only_with_a_cache_there(tmp_path: Path) -> None:
    tools = [each for each in planning.machine().build_tools or () if "ccache" not in each.name]
    tools += [BuildTool("ccache", "/c", "4.7.5"), BuildTool("sccache", "/s", "0.16.0")]
    machine = planning.machine(build_tools=tuple(tools))
    around = planning.around(tmp_path, AWS_SECRET_ACCESS_KEY="hunter2")
    for remote, there in ((None, False), ("redis://cache", False), ("s3://bucket", True)):
        plan = make_plan(planning.request(cache_remote=remote), machine, around)
        applied = plan.environment.apply(around.environ)
        assert ("AWS_SECRET_ACCESS_KEY" in applied) is there
        assert "hunter2" not in json.dumps(plan.to_json())


def test_every_variable_has_a_reason(tmp_path: Path) -> None:
    assert all(each.why for each in planning.plan(tmp_path).environment.set)


def test_two_runs_give_the_same_object_bytes(tmp_path: Path) -> None:
    values = _values(planning.plan(tmp_path).environment)
    assert values["NVCC_APPEND_FLAGS"] == "-objtemp"
    assert values["PYTHONHASHSEED"] == "0"
    assert values["LC_ALL"] == "C"


def test_jobs_and_path_are_no_part_of_the_identity() -> None:
    environment = Environment(
        (Variable("PATH", "a", ""), Variable("MAX_JOBS", "2", ""), Variable("CC", "gcc", "")), ()
    )
    assert environment.identity == {"CC": "gcc"}


def test_the_callers_time_wins_over_that_of_the_tree(tmp_path: Path) -> None:
    around = planning.around(tmp_path, SOURCE_DATE_EPOCH="1700000000")
    plan = make_plan(planning.request(), planning.machine(), around)
    assert _values(plan.environment)["SOURCE_DATE_EPOCH"] == "1700000000"


def test_a_vllm_build_gets_its_version_and_a_place_for_external_projects(tmp_path: Path) -> None:
    request = planning.vllm_request(planning.vllm_tree(tmp_path), toolchain="system")
    plan = make_plan(request, planning.machine(), planning.around(tmp_path))
    values = _values(plan.environment)
    assert values["VLLM_VERSION_OVERRIDE"] == "0.24.0+cu130.sm90"
    assert values["FETCHCONTENT_BASE_DIR"] == f"{plan.work}/deps"
    assert values["VLLM_TARGET_DEVICE"] == "cuda"
