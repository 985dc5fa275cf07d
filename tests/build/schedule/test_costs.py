from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_build.schedule import costs, learned
from dsv4_build.schedule.curve import FLAT, Curve
from dsv4_build.schedule.learned import Learned, Record

_PAGED = "CMakeFiles/_C.dir/csrc/attention/paged_attention_v2.cu.o"
_FA3 = "vllm-flash-attn/CMakeFiles/_vllm_fa3_C.dir/hopper/instantiations"

_MACHETE = "CMakeFiles/_C.dir/csrc/quantization/machete/generated"

_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


def test_a_measured_unit_has_its_own_cost() -> None:
    cost = costs.expected(_PAGED, 1, "vllm")
    assert (cost.basis, cost.family) == ("measured", "paged-attention")
    assert 300 < cost.seconds < 450
    assert 2.5e9 < cost.peak < 4e9


@pytest.mark.parametrize(
    ("path", "family"),
    [
        (f"{_FA3}/flash_fwd_hdim999_bf16_sm90.cu.o", "fa3"),
        ("x/CMakeFiles/_vllm_fa2_C.dir/csrc/flash_attn/src/new.cu.o", "fa2"),
        (f"{_MACHETE}/machete_mm_impl_part99.cu.o", "machete-impl"),
        (f"{_MACHETE}/machete_new.cu.o", "machete"),
        ("CMakeFiles/_moe_C.dir/csrc/moe/marlin_moe_wna16/new.cu.o", "marlin-moe"),
        ("CMakeFiles/_C.dir/csrc/quantization/w8a8/cutlass/new.cu.o", "cutlass"),
        ("CMakeFiles/_moe_C.dir/csrc/moe/new.cu.o", "moe"),
        ("CMakeFiles/_C.dir/csrc/new_bindings.cpp.o", "host"),
        ("CMakeFiles/_C.dir/csrc/new.cu.o", "other"),
        ("anything", "other"),
    ],
)
def test_an_unknown_unit_costs_what_its_family_does(path: str, family: str) -> None:
    cost = costs.expected(path, 1, "vllm")
    assert (cost.basis, cost.family) == ("family", family)


@pytest.mark.parametrize("tree", ["smoke", "bench", ""])
def test_a_unit_of_another_tree_has_no_cost_of_vllm_s(tree: str) -> None:
    known = costs.knowledge()
    general = {family.name for family in known.families if family.general}
    assert general == {"host", "other"}
    for name, cost in known.units.items():
        component, _, source = name.partition(":")
        other = costs.expected(f"CMakeFiles/{component}.dir/{source}.o", 1, tree)
        assert other.family in general
        if other.basis == "measured":
            assert other.seconds < cost.seconds / 10
        else:
            assert other == known.family(f"x.{source.rpartition('.')[2]}.o").cost()


def test_a_unit_that_instantiates_kernels_costs_no_less_than_the_least_of_its_kind() -> None:
    measured = costs.knowledge().units
    parts = [cost for name, cost in measured.items() if "/machete_mm_impl_part" in name]
    others = [cost for name, cost in measured.items() if cost.family == "machete"]
    unmeasured = costs.expected(f"{_MACHETE}/machete_mm_impl_part99.cu.o", 1, "vllm")
    assert unmeasured.basis == "family"
    assert unmeasured.peak >= min(cost.peak for cost in parts)
    assert unmeasured.peak > 2 * max(cost.peak for cost in others)


def test_an_embedded_tree_has_its_own_costs() -> None:
    cost = costs.expected(_PAGED, 1, "smoke")
    assert (cost.basis, cost.family) == ("measured", "other")
    assert costs.expected(_PAGED, 3, "smoke").seconds == pytest.approx(cost.seconds * 2.5)
    assert costs.of_tree("smoke").source != costs.knowledge().source
    assert costs.of_tree("vllm") is costs.knowledge()


def test_more_architectures_take_longer_and_no_more_memory() -> None:
    one, three = costs.expected(_PAGED, 1, "vllm"), costs.expected(_PAGED, 3, "vllm")
    assert three.seconds == pytest.approx(one.seconds * 2.5)
    assert three.peak == one.peak


def test_what_was_learned_here_wins() -> None:
    own = Record(12.0, 345, FLAT)
    cost = costs.expected(_PAGED, 3, "vllm", Learned({costs.name_of(_PAGED): own}))
    assert (cost.basis, cost.seconds, cost.peak) == ("learned", 12.0, 345)


def test_the_knowledge_is_whole() -> None:
    known = costs.knowledge()
    names = {family.name for family in known.families}
    assert known.families[-1].pattern.pattern == ""
    assert known.source
    for name, cost in known.units.items():
        assert re.fullmatch(r"[^:]+:[^:]+\.(?:cu|cpp)", name)
        assert cost.family in names
        assert cost.seconds > 0
        assert 1e7 < cost.peak < 2e10
        assert max(cost.curve.levels) == 1


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (f"{_FA3}/a.cu.o", "_vllm_fa3_C:hopper/instantiations/a.cu"),
        ("x.o", "x.o"),
        ("", ""),
    ],
)
def test_a_unit_is_named_by_component_and_source(path: str, name: str) -> None:
    assert costs.name_of(path) == name


_RECORDS = st.dictionaries(
    st.text(min_size=1),
    st.builds(
        Record,
        st.floats(0.1, 1e5),
        st.integers(1, 1 << 45),
        st.lists(st.integers(0, 100), min_size=1, max_size=24).map(Curve.from_json),
    ),
)


@given(_RECORDS)
def test_what_was_learned_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, records: dict[str, Record]
) -> None:
    path = tmp_path_factory.mktemp("costs") / "x.json"
    learned.write(path, records)
    units = learned.load(path).units
    assert units.keys() == records.keys()
    for name, record in records.items():
        assert units[name].peak == record.peak
        assert units[name].seconds == pytest.approx(record.seconds, abs=0.051)
        assert units[name].curve == record.curve


def test_the_newest_of_a_unit_wins_and_the_others_stay(tmp_path: Path) -> None:
    path = learned.place(tmp_path, "vllm", ["sm_90", "sm_100"], "13.0.88")
    learned.add(path, {"a": Record(1, 10, FLAT), "b": Record(2, 20, FLAT)})
    learned.add(path, {"a": Record(3, 30, FLAT)})
    learned.add(path, {})
    assert {name: each.peak for name, each in learned.load(path).units.items()} == {
        "a": 30,
        "b": 20,
    }
    left = [each.name for each in path.parent.iterdir()]
    assert sorted(left) == sorted([path.name, f".{path.name}.lock"])


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"schema": "other/1", "units": {}}',
        '{"schema": "dsv4-doctor/learned-costs/1", "units": []}',
        '{"schema": "dsv4-doctor/learned-costs/1", "units": {"a": {"seconds": -1}}}',
    ],
)
def test_a_broken_file_teaches_nothing(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    assert learned.load(path).units == {}


@given(_JSON)
def test_any_json_is_read_without_an_error(
    tmp_path_factory: pytest.TempPathFactory, content: Any
) -> None:
    path = tmp_path_factory.mktemp("costs") / "x.json"
    record = {"schema": learned.SCHEMA, "units": {"a": content}}
    path.write_text(json.dumps(record))
    learned.load(path)


def test_a_directory_that_is_read_only_is_an_error_to_be_told(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert stat.S_ISREG(blocked.stat().st_mode)
    with pytest.raises(OSError, match="file"):
        learned.write(blocked / "x.json", {})
