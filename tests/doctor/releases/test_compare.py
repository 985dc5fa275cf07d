"""What changed between two releases."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.places import Cited, Place
from dsv4_doctor.releases.compare import changes, entries, side

NAMES = st.sampled_from(load.release_names())
OLD, NEW = load.release("0.24.0"), load.release("0.33.0")


def found(topic: str) -> dict[str, str]:
    return {each.name: each.kind for each in changes(side(OLD), side(NEW)) if each.topic == topic}


def test_new_floors() -> None:
    assert found("requirement")["gcc for CUDA"] == "added"
    assert found("requirement")["Python"] == "changed"
    assert "CMake" not in found("requirement")


def test_dropped_kernels_and_new_projects() -> None:
    assert found("feature")["paged-v2"] == "removed"
    assert found("external project")["tml_fa4"] == "added"
    assert found("external project")["cutlass"] == "changed"
    assert found("extension")["_flashkda_C"] == "added"


def test_a_change_has_the_line_of_the_release_that_says_it() -> None:
    change = next(each for each in changes(side(OLD), side(NEW)) if each.name == "gcc for CUDA")
    assert change.before is None
    assert change.after is not None
    assert str(change.after.place) == "vllm 0.33.0 CMakeLists.txt:1694"


def test_where_something_stands_is_no_change() -> None:
    moved = replace(OLD, torch=Cited(OLD.torch.value, Place("vllm", "0.24.0", "elsewhere", 1)))
    assert changes(side(OLD), side(moved)) == ()


# The first look at a release reads its flags and variables.
@settings(max_examples=30, deadline=None)
@given(NAMES)
def test_nothing_changes_within_a_release(name: str) -> None:
    assert changes(side(load.release(name)), side(load.release(name))) == ()


@settings(max_examples=30, deadline=None)
@given(NAMES, NAMES)
def test_the_way_back_is_the_opposite(old: str, new: str) -> None:
    there = changes(side(load.release(old)), side(load.release(new)))
    back = changes(side(load.release(new)), side(load.release(old)))
    opposite = {"added": "removed", "removed": "added", "changed": "changed"}
    assert {(each.topic, each.name, opposite[each.kind]) for each in there} == {
        (each.topic, each.name, each.kind) for each in back
    }


@pytest.mark.parametrize("name", load.release_names())
def test_everything_that_a_release_says_has_a_place(name: str) -> None:
    for _, listed in entries(load.release(name)):
        assert all(each.place is not None and each.value for each in listed.values())
