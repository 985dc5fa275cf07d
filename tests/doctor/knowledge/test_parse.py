"""Reading places and optional values of a knowledge file."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version
from tests.doctor.knowledge.files import RELEASES, read

from dsv4_doctor.knowledge import parse
from dsv4_doctor.knowledge.model import ANY_VERSION
from dsv4_doctor.knowledge.places import Place
from dsv4_doctor.knowledge.places import place as place_of


@given(st.text(min_size=1), st.integers(min_value=0, max_value=10**6))
def test_a_place_as_text_round_trips(file: str, line: int) -> None:
    assert place_of(f"{file}:{line}", "vllm", "1.0") == Place("vllm", "1.0", file, line)


@pytest.mark.parametrize("text", ["nvcc --version", "https://example.org/page", ":12", "a:b", ""])
def test_a_text_without_a_line_is_a_command_or_a_page(text: str) -> None:
    assert place_of(text, "cuda", "13.0") == Place("cuda", "13.0", text)


def test_a_place_elsewhere_names_its_project() -> None:
    data = {"project": "torch", "release": "2.11.0", "file": "METADATA", "line": 47}
    assert place_of(data, "vllm", "0.24.0") == Place("torch", "2.11.0", "METADATA", 47)
    assert place_of({"project": "x", "file": "page"}, "vllm", "1") == Place("x", "", "page")


def test_a_release_without_its_own_standard_leaves_it_to_torch() -> None:
    data = read(RELEASES[0])
    data.pop("cxx_standard", None)
    assert parse.release(data).cxx_standard is None


def test_a_feature_that_says_little_has_empty_values() -> None:
    feature = parse._feature("fa3", {"present": True, "at": ["setup.py:1"]}, "1.0")
    assert feature.places == (Place("vllm", "1.0", "setup.py", 1),)
    assert feature.nvcc == ANY_VERSION
    assert feature.runtime_nvcc is None
    assert (feature.archs, feature.ptx, feature.units, feature.compute_majors) == ((),) * 4
    assert (feature.first, feature.last, feature.component, feature.file) == ("",) * 4


def test_the_gates_of_an_extension() -> None:
    data: dict[str, Any] = {"name": "x", "optional": True, "at": "setup.py:1"}
    assert parse._extension(data, "1.0").python == ANY_VERSION
    assert parse._extension(data, "1.0").file == ""
    gated = parse._extension({**data, "python": ">=3.11", "nvcc": ">=12.9"}, "1.0")
    assert (gated.python, gated.nvcc) == (SpecifierSet(">=3.11"), SpecifierSet(">=12.9"))


def test_a_compiler_floor_is_a_version() -> None:
    floor = parse._compiler_floor({"value": "11.3", "scope": "all", "at": "CMakeLists.txt:24"}, "1")
    assert floor.minimum == Version("11.3")
    assert floor.place.line == 24
