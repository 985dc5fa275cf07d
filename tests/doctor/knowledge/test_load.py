"""Finding and choosing knowledge by name."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from dsv4_doctor.errors import EXIT_USAGE, UsageError
from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.model import Release

FEATURES = tuple(load.project().feature_titles)
TEMPLATE = load.release("0.24.0")


def made(name: str, having: frozenset[str]) -> Release:
    features = {
        feature: replace(TEMPLATE.features[feature], present=feature in having)
        for feature in FEATURES
    }
    return replace(TEMPLATE, name=name, features=features)


def test_the_newest_release_comes_first_by_version_and_not_by_letters() -> None:
    versions = [Version(name) for name in load.release_names()]
    assert versions == sorted(versions, reverse=True)
    assert load.release_names().index("0.20.2") < load.release_names().index("0.7.2")


def test_a_release_may_be_written_with_a_v() -> None:
    assert load.release("v0.24.0") == load.release("0.24.0")


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("0.24", "0.24.0"),
        ("v0.15.1", "0.16.0, 0.14.1"),
        ("0.1", "0.6.0"),
        ("9999", load.release_names()[0]),
        ("0.24.0.json", ""),
        ("../releases/0.24.0", ""),
        ("latest", ""),
        ("", ""),
        ("v", ""),
    ],
)
def test_an_unknown_release_names_its_neighbours(name: str, nearest: str) -> None:
    with pytest.raises(UsageError) as raised:
        load.release(name)
    known = f"; the nearest known: {nearest}" if nearest else ""
    assert str(raised.value) == f"unknown vLLM release {name!r}{known}"
    assert "dsv4-doctor releases" in raised.value.hint
    assert load.release_names()[0] in raised.value.hint
    assert raised.value.exit_code == EXIT_USAGE


def test_an_unknown_profile_lists_what_exists() -> None:
    with pytest.raises(UsageError, match=r"'blog'; known: article"):
        load.profile("blog")


def test_the_default_is_the_newest_release_with_all_default_features() -> None:
    assert load.default_release().name == "0.24.0"
    wanted = load.project().default_features
    for name in load.release_names():
        release = load.release(name)
        if release.version > load.default_release().version:
            assert not all(release.has(feature) for feature in wanted)


@given(
    st.lists(st.frozensets(st.sampled_from(FEATURES)), max_size=6),
    st.lists(st.sampled_from(FEATURES), unique=True, max_size=3),
)
def test_the_choice_follows_the_features(have: list[frozenset[str]], wanted: list[str]) -> None:
    releases = [made(f"1.{len(have) - index}.0", each) for index, each in enumerate(have)]
    fits = [release for release, each in zip(releases, have, strict=True) if each >= set(wanted)]
    if fits:
        chosen = load.newest_with(wanted, iter(releases))
        assert chosen is max(fits, key=lambda release: release.version)
    else:
        with pytest.raises(UsageError, match="no known vLLM release"):
            load.newest_with(wanted, iter(releases))


def test_no_older_release_is_read_than_needed() -> None:
    rest = iter([made("1.1.0", frozenset(["fa3"])), made("1.0.0", frozenset(["fa3"]))])
    load.newest_with(["fa3"], rest)
    assert next(rest).name == "1.0.0"


def test_every_architecture_of_a_release_is_known() -> None:
    known = set(load.known_archs())
    assert list(load.known_archs()) == sorted(known)
    for name in load.release_names():
        for each in load.release(name).cuda_archs:
            assert set(each.archs) <= known
