from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.build import planning

from dsv4_build import plan_text
from dsv4_build.caching.choice import choose
from dsv4_build.plan import Plan
from dsv4_build.planner import make_plan
from dsv4_doctor.errors import BuildError, UsageError
from dsv4_doctor.facts.build_tools import BuildTool

CCACHE = BuildTool("ccache", "/usr/bin/ccache", "4.7.5")
SCCACHE = BuildTool("sccache", "/usr/bin/sccache", "0.16.0")
NONE = (BuildTool("ccache", None, None), BuildTool("sccache", None, None))
REDIS = "redis://:hunter2@cache.example"


def test_an_installed_ccache_is_used_and_nothing_else_by_itself() -> None:
    found = choose("auto", None, (CCACHE, SCCACHE))
    assert (found.kind, found.version, found.launcher) == ("ccache", "4.7.5", ("ccache",))
    alone = choose("auto", None, (SCCACHE,))
    assert alone.kind == "off"
    assert "--cache sccache takes it" in alone.because
    assert choose("auto", None, NONE).because == "ccache is not installed"


def test_off_is_off() -> None:
    found = choose("off", None, (CCACHE,))
    assert (found.kind, found.launcher) == ("off", ())
    with pytest.raises(UsageError, match="--cache off is none"):
        choose("off", REDIS, (CCACHE,))


def test_what_is_asked_for_and_missing_stops_with_the_way_to_get_it() -> None:
    with pytest.raises(BuildError, match="--cache ccache needs ccache") as caught:
        choose("ccache", None, NONE)
    assert "apt-get install ccache" in caught.value.hint
    with pytest.raises(BuildError, match="--cache-remote needs ccache"):
        choose("auto", REDIS, NONE)


def test_a_shared_cache_decides_who_can_speak_to_it() -> None:
    assert choose("auto", REDIS, (CCACHE, SCCACHE)).kind == "ccache"
    assert choose("auto", "s3://bucket", (CCACHE, SCCACHE)).kind == "sccache"
    with pytest.raises(UsageError, match="ccache does not speak S3"):
        choose("ccache", "s3://bucket", (CCACHE, SCCACHE))


@pytest.mark.parametrize(
    ("wish", "remote", "tool"),
    [
        ("ccache", None, BuildTool("ccache", "/usr/bin/ccache", "4.4.2")),
        ("ccache", REDIS, BuildTool("ccache", "/usr/bin/ccache", "4.6.3")),
        ("sccache", None, BuildTool("sccache", "/usr/bin/sccache", "0.4.0")),
        ("ccache", None, BuildTool("ccache", "/usr/bin/ccache", None)),
    ],
)
def test_one_that_would_mix_up_objects_is_refused(
    wish: str, remote: str | None, tool: BuildTool
) -> None:
    with pytest.raises(BuildError, match=r"can (keep nvcc's variables apart|share a cache)"):
        choose(wish, remote, (tool,))  # type: ignore[arg-type]
    assert choose("auto", None, (BuildTool("ccache", "/c", "4.4"),)).kind == "off"


def _plan(tmp_path: Path, **environ: str) -> Plan:
    snapshot = planning.machine(build_tools=(*(planning.machine().build_tools or ()), SCCACHE))
    tools = tuple(each for each in snapshot.build_tools or () if each.name != "ccache")
    snapshot = planning.machine(build_tools=(*tools, CCACHE))
    wish = environ.pop("wish", "auto")
    request = planning.request(cache=wish, cache_remote=environ.pop("remote", None))
    return make_plan(request, snapshot, planning.around(tmp_path, **environ))


def _values(plan: Plan) -> dict[str, str]:
    return {each.name: each.value for each in plan.environment.set}


def test_the_cache_stands_before_every_compiler(tmp_path: Path) -> None:
    values = _values(_plan(tmp_path))
    for language in ("C", "CXX", "CUDA"):
        assert values[f"CMAKE_{language}_COMPILER_LAUNCHER"] == "ccache"
        # Behind vLLM's own choice among the arguments of CMake, so that this one holds.
        assert f"-DCMAKE_{language}_COMPILER_LAUNCHER=ccache" in values["CMAKE_ARGS"].split()
    assert values["VLLM_DISABLE_SCCACHE"] == "1"


def test_off_keeps_upstream_from_taking_one_by_itself(tmp_path: Path) -> None:
    values = _values(_plan(tmp_path, wish="off"))
    assert "-DCMAKE_CUDA_COMPILER_LAUNCHER=" in values["CMAKE_ARGS"].split()
    assert "CMAKE_CUDA_COMPILER_LAUNCHER" not in values
    assert values["CCACHE_DISABLE"] == values["VLLM_DISABLE_SCCACHE"] == "1"


def test_ccache_changes_no_key_and_sccache_does(tmp_path: Path) -> None:
    off, ccache, sccache = (_plan(tmp_path, wish=wish) for wish in ("off", "ccache", "sccache"))
    keys = [plan.step("compile").key for plan in (off, ccache, sccache)]
    assert keys[0] == keys[1] != keys[2]
    assert _values(ccache)["NVCC_APPEND_FLAGS"] == "-objtemp"
    assert "NVCC_APPEND_FLAGS" not in _values(sccache)


def test_settings_that_decide_what_is_a_hit_are_removed(tmp_path: Path) -> None:
    plan = _plan(
        tmp_path, CCACHE_SLOPPINESS="include_file_mtime", CCACHE_DIR="/c", SCCACHE_REDIS="x"
    )
    assert {each.name for each in plan.environment.removed} == {
        "CCACHE_SLOPPINESS",
        "SCCACHE_REDIS",
    }


def test_no_plan_has_the_password(tmp_path: Path) -> None:
    plan = _plan(tmp_path, remote=REDIS)
    shown = [json.dumps(plan.to_json()), plan_text.render(plan), repr(plan)]
    assert not any("hunter2" in text for text in shown)
    assert "shared through redis://cache.example:6379" in shown[1]
    assert plan.to_json()["cache"]["remote"] == "redis://cache.example:6379"
    assert "hunter2" not in repr(planning.request(cache_remote=REDIS))


def test_the_address_reaches_no_program_of_the_build_but_the_cache(tmp_path: Path) -> None:
    around = planning.around(tmp_path, DSV4_CACHE_REMOTE=REDIS, CCACHE_REMOTE_STORAGE=REDIS)
    plan = make_plan(planning.request(cache="off"), planning.machine(), around)
    assert "hunter2" not in json.dumps(plan.environment.apply(around.environ))
