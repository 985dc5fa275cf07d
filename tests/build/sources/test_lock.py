from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.build import planning
from tests.build.sources.upstream import Upstream

from dsv4_build.environment import LAUNCHING
from dsv4_build.plan import Plan
from dsv4_build.planner import make_plan
from dsv4_build.sources import lock as locks
from dsv4_build.sources import lockdiff, supply
from dsv4_build.sources.lock import Lock
from dsv4_build.sources.model import LeftOut, Pin
from dsv4_build.sources.resolution import Package
from dsv4_build.sources.store import Store
from dsv4_doctor.errors import BuildError, InputError, UsageError
from dsv4_doctor.facts.build_tools import BuildTool

_REQUIREMENTS = (
    f"setuptools==80.0 --hash=sha256:{'a' * 64}\ntorch==2.11.0 --hash=sha256:{'b' * 64}\n"
)


@pytest.fixture
def plan(tmp_path: Path, filled: Store, upstream: Upstream) -> Plan:
    """A plan of the smoke tree, with the sources of a project beside it."""
    found = supply.from_cache(filled, (upstream.project(),), (), {})
    return replace(planning.plan(tmp_path, toolchain="pypi"), supply=found)


def _settle(plan: Plan, path: Path, *, update: bool = False) -> list[str]:
    said: list[str] = []
    wanted = planning.request(lock=path, update_lock=update, resolution=_REQUIREMENTS)
    lockdiff.settle(plan, wanted, said.append)
    return said


def test_a_lock_is_written_once_and_then_held(plan: Plan, tmp_path: Path) -> None:
    path = tmp_path / "dsv4-build.lock"
    assert _settle(plan, path) == [f"wrote {path}"]
    before = path.read_bytes()
    assert _settle(plan, path) == []
    assert path.read_bytes() == before


def test_everything_that_the_result_depends_on_is_in_it(plan: Plan, upstream: Upstream) -> None:
    data = json.loads(locks.of_plan(plan, _REQUIREMENTS).to_text())
    assert data["schema"] == locks.SCHEMA
    assert {each["commit"] for each in data["sources"]} == set(upstream.commits.values())
    assert data["packages"][1]["sha256"] == ["b" * 64]
    assert {each["name"] for each in data["toolchain"]["parts"]} >= {"nvidia-cuda-nvcc"}
    assert set(data["variables"]) == {each.name for each in plan.environment.set} - {*LAUNCHING}
    assert data["variables"]["CUDA_HOME"] == "{toolchain}"
    assert data["variables"]["MAX_JOBS"] is None
    assert "HOME" in data["kept"]


def test_a_lock_is_what_its_schema_says(plan: Plan) -> None:
    schema = json.loads(files("dsv4_doctor").joinpath("schemas/lock-1.json").read_text())
    data = json.loads(locks.of_plan(plan, _REQUIREMENTS).to_text())
    jsonschema.validate(data, schema)
    del data["tree"]["sha256"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, schema)


def test_another_machine_writes_the_same_bytes(tmp_path: Path) -> None:
    texts = []
    ccache = BuildTool("ccache", "/usr/bin/ccache", "4.7.5")
    for name, jobs, tools in (("one", 2, ()), ("two", 64, (ccache,))):
        around = planning.around(tmp_path / name, HOME=f"/home/{name}", CFLAGS="-O" + name)
        wanted = planning.request(toolchain="pypi", jobs=jobs)
        machine = planning.machine()
        known = [each for each in machine.build_tools or () if each.name != "ccache"]
        made = make_plan(wanted, replace(machine, build_tools=(*known, *tools)), around)
        texts.append(locks.of_plan(made, _REQUIREMENTS).to_text())
    assert texts[0] == texts[1]


def test_a_build_that_differs_is_refused_and_shows_where(plan: Plan, tmp_path: Path) -> None:
    path = tmp_path / "dsv4-build.lock"
    _settle(plan, path)
    pin = plan.supply.resolved.pins[0]
    moved = replace(plan.supply.resolved, pins=(replace(pin, commit="1" * 40),))
    other = replace(plan, supply=replace(plan.supply, resolved=moved))
    with pytest.raises(BuildError, match="not the one that is locked") as error:
        _settle(other, path)
    lines = str(error.value).splitlines()
    assert any(line.startswith("  - source outer: ") and pin.commit in line for line in lines)
    assert any(line.startswith("  + source outer: ") and "1" * 40 in line for line in lines)
    assert any(line.startswith("  - source outer/third_party/inner:") for line in lines)
    assert "--update-lock" in error.value.hint
    assert _settle(other, path, update=True) == [f"wrote {path}"]
    assert _settle(other, path) == []


def test_a_long_difference_is_cut(plan: Plan, tmp_path: Path) -> None:
    path = tmp_path / "dsv4-build.lock"
    _settle(plan, path)
    bare = replace(plan, environment=replace(plan.environment, set=()))
    with pytest.raises(BuildError, match=r"and \d+ more lines"):
        _settle(bare, path)


def test_a_mirror_cannot_be_locked(plan: Plan, tmp_path: Path) -> None:
    mirrored = replace(plan, supply=supply.Supply(mirror="/mirror"))
    with pytest.raises(UsageError, match="what is in a --git-mirror is not known"):
        _settle(mirrored, tmp_path / "x.lock")


def test_without_a_lock_nothing_is_written(plan: Plan) -> None:
    said: list[str] = []
    lockdiff.settle(plan, planning.request(), said.append)
    assert said == []


def test_a_lock_is_read_back(plan: Plan, tmp_path: Path) -> None:
    made = locks.of_plan(plan, _REQUIREMENTS)
    assert locks.parse(made.to_text().encode(), "x") == made
    assert made.requirements == _REQUIREMENTS


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "dsv4-doctor/lock/9"}, "its schema is"),
        ({"archs": "sm_90"}, "archs"),
        ({"unknown": 1}, "unknown"),
        ({"packages": [{"name": "torch", "version": "2", "sha256": []}]}, "is no package"),
        ({"packages": [{"name": "-e .", "version": "2", "sha256": ["a" * 64]}]}, "is no package"),
        ({"sources": [dict.fromkeys(Pin.__annotations__, "x")]}, "no whole commit"),
        ({"variables": {"CC": 1}}, "variables"),
    ],
)
def test_what_is_no_lock_is_refused(
    plan: Plan, tmp_path: Path, change: dict[str, object], message: str
) -> None:
    path = tmp_path / "x.lock"
    data = json.loads(locks.of_plan(plan, _REQUIREMENTS).to_text()) | change
    path.write_text(json.dumps(data))
    with pytest.raises(InputError, match=message):
        locks.read(path)


def test_a_lock_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        locks.read(tmp_path / "absent")


@given(st.binary() | st.text().map(str.encode))
def test_any_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(InputError):
        locks.parse(content, "x")


_HEX = st.from_regex(r"[0-9a-f]{40}", fullmatch=True)
_TEXT = st.text(max_size=8)
_PINS = st.builds(Pin, *[_TEXT] * 5, commit=_HEX, tree=_HEX)
_PACKAGES = st.builds(
    Package,
    st.from_regex(r"[a-z0-9]{1,6}", fullmatch=True),
    st.from_regex(r"[0-9]{1,3}", fullmatch=True),
    st.lists(
        st.from_regex(r"[0-9a-f]{64}", fullmatch=True), min_size=1, max_size=2, unique=True
    ).map(lambda each: tuple(sorted(each))),
)
_LISTS = st.lists(_PACKAGES, max_size=3, unique_by=lambda each: each.name).map(
    lambda each: tuple(sorted(each, key=lambda one: f"{one.name}=={one.version}"))
)
_LOCKS = st.builds(
    Lock,
    tree=st.builds(locks.LockedTree, *[_TEXT] * 5),
    archs=st.lists(_TEXT, max_size=2).map(tuple),
    sources=st.lists(_PINS, max_size=2).map(tuple),
    left_out=st.lists(st.builds(LeftOut, *[_TEXT] * 4), max_size=2).map(tuple),
    python=_TEXT,
    machine=_TEXT,
    packages=_LISTS,
    toolchain=st.builds(
        locks.LockedToolchain,
        _TEXT,
        _TEXT,
        st.lists(_PACKAGES, max_size=2).map(tuple),
        _TEXT,
        st.dictionaries(_TEXT, _TEXT, max_size=2),
    ),
    variables=st.dictionaries(_TEXT, st.none() | _TEXT, max_size=2),
    kept=st.lists(_TEXT, max_size=2).map(tuple),
)


@given(_LOCKS)
def test_every_lock_is_read_back_and_equals_itself(made: Lock) -> None:
    found = locks.parse(made.to_text().encode(), "x")
    assert found == made
    assert lockdiff.differences(made, found) == []


@given(_LOCKS, _HEX)
def test_another_toolchain_is_a_difference(made: Lock, nvcc: str) -> None:
    other = replace(made, toolchain=replace(made.toolchain, nvcc=nvcc))
    assert any("toolchain" in line for line in lockdiff.differences(made, other))
