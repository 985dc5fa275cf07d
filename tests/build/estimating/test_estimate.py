from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.build import planning

from dsv4_build.estimating import estimate_text, knowledge
from dsv4_build.estimating.estimate import Estimate, estimate
from dsv4_build.estimating.units import object_of
from dsv4_build.plan import Plan
from dsv4_build.planner import make_plan
from dsv4_build.schedule import costs, learned
from dsv4_build.schedule.curve import FLAT
from dsv4_doctor.facts.build_tools import BuildTool

PAGED = "_C_stable_libtorch:csrc/libtorch_stable/attention/paged_attention_v2.cu"
NINJA = str(Path(sys.executable).with_name("ninja"))


def vllm(tmp_path: Path, version: str = "0.24.0", **changes: object) -> Plan:
    request = planning.vllm_request(planning.vllm_tree(tmp_path, version), **changes)
    return make_plan(request, planning.machine(), planning.around(tmp_path))


def told(plan: Plan, tmp_path: Path) -> Estimate:
    return estimate(plan, tmp_path / "cache")


def test_a_release_is_told_by_family_with_where_each_number_comes_from(tmp_path: Path) -> None:
    found = told(vllm(tmp_path), tmp_path)
    families = {each.name: each for each in found.families}
    assert families["fa3"].units == 192
    assert families["fa3"].bases == {"measured": 192}
    assert set(families["marlin"].bases) == {"family"}
    assert sum(each.units for each in found.families) == found.units
    assert found.seconds == pytest.approx(sum(each.seconds for each in found.families))
    assert not found.exact
    assert found.counted.startswith("counted: vLLM 0.24.0 for sm_90")
    assert any("_flashmla_C" in each for each in found.unknown)
    assert not any("fmha_sm100" in each for each in found.unknown)


def test_another_release_is_told_by_the_nearest_and_says_so(tmp_path: Path) -> None:
    found = told(vllm(tmp_path, "0.22.0"), tmp_path)
    assert "vLLM 0.20.2" in found.counted
    assert "vLLM 0.22.0 was not counted" in found.counted


def test_only_what_was_asked_for_is_told(tmp_path: Path) -> None:
    found = told(vllm(tmp_path, only=("paged_attention_v2.cu",)), tmp_path)
    assert found.units == 1
    assert found.longest is not None
    assert found.longest.name.endswith("paged_attention_v2.cu")
    assert found.unknown == ("linking, and the time to fetch external projects and to configure",)


def test_what_was_learned_here_wins_and_tells_how_fast_the_machine_is(tmp_path: Path) -> None:
    plan = vllm(tmp_path)
    known = costs.knowledge().units
    measured = [name for name, cost in known.items() if cost.family == "fa3"][:3]
    place = learned.place(tmp_path / "cache", "vllm", ["sm_90"], "13.0.88")
    units = {name: learned.Record(known[name].seconds / 2, 1 << 30, FLAT) for name in measured}
    learned.write(place, units)
    before, after = told(plan, tmp_path / "other"), told(plan, tmp_path)
    assert after.speed == pytest.approx(0.5)
    assert after.speed_basis == "3 units that were compiled here before"
    assert after.seconds == pytest.approx(before.seconds / 2, rel=0.01)
    (fa3,) = [each for each in after.families if each.name == "fa3"]
    assert fa3.bases == {"learned": 3, "measured": 189}


def test_the_wall_is_decided_by_what_is_tightest(tmp_path: Path) -> None:
    plan = vllm(tmp_path)
    host = plan.facts.host
    assert host is not None

    def on(cpus: int, memory: int) -> Estimate:
        seen = replace(plan.facts, host=replace(host, cpus=cpus, memory_available=memory))
        jobs = replace(plan.choices.jobs, count=cpus)
        choices = replace(plan.choices, jobs=jobs)
        return told(replace(plan, facts=seen, choices=choices), tmp_path)

    many = on(4096, 1 << 50)
    assert many.decided_by == "longest unit"
    assert many.longest is not None
    assert many.wall == many.longest.seconds
    assert on(64, 16 << 30).decided_by == "memory"
    few = on(4, 1 << 50)
    assert few.decided_by == "processors"
    assert few.wall == pytest.approx(few.seconds / 4)
    unknown = told(replace(plan, facts=replace(plan.facts, host=None)), tmp_path)
    assert unknown.wall is None
    assert "not known" in estimate_text.render(unknown, ())


def test_the_smoke_tree_has_costs_of_its_own_under_names_that_vllm_has_too(tmp_path: Path) -> None:
    found = told(planning.plan(tmp_path), tmp_path)
    assert (found.units, found.unknown) == (2, ())
    assert found.seconds < 30
    shared = "_C:csrc/attention/paged_attention_v2.cu"
    assert costs.expected(object_of("_C", shared.partition(":")[2]), 1, "vllm").seconds > 100
    place = learned.place(tmp_path / "cache", "smoke", ["sm_90"], "13.0.88")
    learned.write(place, {shared: learned.Record(9.0, 1 << 30, FLAT)})
    again = told(planning.plan(tmp_path), tmp_path)
    assert {each.name: each.bases for each in again.families} == {
        "other": {"learned": 1, "measured": 1}
    }
    assert again.speed == pytest.approx(9.0 / costs.of_tree("smoke").units[shared].seconds)
    assert again.speed_basis == "1 units that were compiled here before"


def test_a_configured_tree_is_read_and_what_it_has_built_is_not_counted(tmp_path: Path) -> None:
    plan = planning.plan(tmp_path)
    build = Path(plan.work) / "build"
    objects = [object_of("_C", "csrc/a.cu"), object_of("_fa3_C", "csrc/b.cu")]
    build.mkdir(parents=True)
    edges = "".join(f"build {each}: cc\n" for each in objects)
    (build / "build.ninja").write_text(f"rule cc\n  command = true\n{edges}")
    (build / objects[0]).parent.mkdir(parents=True)
    (build / objects[0]).touch()
    tools = tuple(each for each in plan.choices.tools if each.name != "ninja")
    choices = replace(plan.choices, tools=(*tools, BuildTool("ninja", NINJA, "1.13")))
    found = told(replace(plan, choices=choices), tmp_path)
    assert (found.units, found.done, found.exact) == (1, 1, True)
    assert found.longest is not None
    assert found.longest.name == "_fa3_C:csrc/b.cu"
    assert "1 are there from an earlier run" in estimate_text.render(found, ())


def test_a_finished_build_has_nothing_left_to_do(tmp_path: Path) -> None:
    plan = vllm(tmp_path)
    result = Path(plan.work) / "result"
    result.mkdir(parents=True)
    (result / "vllm.whl").touch()
    found = told(plan, tmp_path)
    assert (found.units, found.wall, found.disk, found.largest) == (0, 0.0, (), None)
    assert "an earlier run has compiled" in estimate_text.render(found, ())


def test_it_is_data_and_text(tmp_path: Path) -> None:
    found = told(vllm(tmp_path), tmp_path)
    data = json.loads(json.dumps(found.to_json()))
    assert data["families"][0]["name"] == "fa3"
    assert {"what", "path", "bytes", "basis"} <= data["disk"][0].keys()
    text = estimate_text.render(found, ())
    for word in (
        "wall",
        "longest",
        "largest",
        "speed 1.00",
        "not in it",
        estimate_text.span(found.seconds),
    ):
        assert word in text
    assert all(len(line) <= 110 for line in text.splitlines())


def test_what_is_known_of_releases_is_what_ninja_lists() -> None:
    content = knowledge.content()
    for record in (*content["releases"].values(), *content["recipes"].values()):
        assert record["at"].startswith("counted: ")
        for component, sources in record["units"].items():
            assert sources == sorted(set(sources))
            assert all(costs.name_of(object_of(component, each)) for each in sources)
    recipe = content["recipes"]["smoke"]
    names = {f"{name}:{each}" for name, sources in recipe["units"].items() for each in sources}
    assert names == recipe["costs"].keys()
    assert shutil.which(NINJA)
