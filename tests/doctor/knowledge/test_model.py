"""Specifiers, citations and look-ups of the knowledge model."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet

from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.model import ANY_VERSION, accepts
from dsv4_doctor.knowledge.places import Place


@pytest.mark.parametrize(
    ("specifier", "version", "accepted"),
    [
        (">=12.3", "12.3.52", True),
        (">=12.3", "12.2.140", False),
        ("<12.8", "12.8.61", False),
        ("<13.0", "12.9.86", True),
        (">=13.0,<13.4", "13.3", True),
        ("==3.6.0", "3.6.0+git1", True),
        ("==2.11.0", "2.11.0+cu130", True),
        (">=13.4", "13.5.0rc1", True),
        ("", "1.0", True),
        ("", "unknown", False),
        (">=1", "", False),
    ],
)
def test_accepts(specifier: str, version: str, accepted: bool) -> None:
    assert accepts(SpecifierSet(specifier), version) is accepted


@given(st.text())
def test_no_version_text_breaks_accepts(version: str) -> None:
    assert accepts(ANY_VERSION, version) in {True, False}


def test_a_place_cites_itself() -> None:
    assert str(Place("vllm", "0.24.0", "CMakeLists.txt", 378)) == "vllm 0.24.0 CMakeLists.txt:378"
    assert str(Place("articles", "", "two articles")) == "articles two articles"


def test_a_place_becomes_the_source_of_a_requirement() -> None:
    source = Place("torch", "2.11.0", "METADATA", 47).source("triton == 3.6.0")
    assert source.requirement == "triton == 3.6.0"
    assert source.citation == "torch 2.11.0 METADATA:47"


def test_a_release_without_a_list_for_this_compiler_supports_nothing() -> None:
    release = load.release("0.24.0")
    newer_only = replace(release, cuda_archs=release.cuda_archs[:1])
    assert newer_only.archs_for("12.8.93") is None
    assert release.archs_for("not a version") is None


def test_a_feature_that_nobody_knows_is_not_there() -> None:
    assert not load.release("0.24.0").has("fa9")
    assert load.release("0.24.0").has("fa3")
    assert not load.release("0.33.0").has("paged-v2")
