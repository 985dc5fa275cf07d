"""Reading what the user wants."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_doctor.arch import Arch
from dsv4_doctor.errors import EXIT_USAGE, UsageError
from dsv4_doctor.knowledge import load
from dsv4_doctor.target import (
    PURPOSES,
    Purpose,
    Target,
    parse_archs,
    parse_features,
    require_features,
)

KNOWN = (Arch(75), Arch(80), Arch(90), Arch(100), Arch(120))
FEATURES = ("fa3", "paged-v2", "deepseek-v4")


@pytest.mark.parametrize(
    ("purpose", "builds", "serves"),
    [("build", True, False), ("serve", False, True), ("all", True, True)],
)
def test_a_purpose(purpose: Purpose, builds: bool, serves: bool) -> None:
    target = Target("0.24.0", purpose=purpose)
    assert purpose in PURPOSES
    assert (target.builds, target.serves) == (builds, serves)


def test_the_architectures_of_a_target_as_values() -> None:
    assert Target("0.24.0", ("sm_90a", "sm_100f")).parsed_archs == (Arch(90, "a"), Arch(100, "f"))
    assert Target("0.24.0").parsed_archs == ()


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        ([], []),
        (["sm_90"], ["sm_90"]),
        (["sm_90,sm_80"], ["sm_90", "sm_80"]),
        (["9.0a", "compute_100", "75"], ["sm_90a", "sm_100", "sm_75"]),
        ([" sm_90 , ,sm_90", "9.0"], ["sm_90"]),
        (["sm_90", "sm_90a"], ["sm_90", "sm_90a"]),
    ],
)
def test_architectures_as_given_on_the_command_line(texts: list[str], names: list[str]) -> None:
    assert [arch.sm for arch in parse_archs(texts, KNOWN)] == names


@pytest.mark.parametrize("text", ["sm_91", "hopper", "9", "sm_90b", "sm_90;sm_80", "9.0+PTX"])
def test_an_unknown_architecture_lists_those_that_exist(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_archs(["sm_90", text], KNOWN)
    assert str(raised.value) == (
        f"unknown architecture {text!r}; known: sm_75, sm_80, sm_90, sm_100, sm_120"
    )
    assert raised.value.exit_code == EXIT_USAGE


@given(
    st.lists(
        st.builds(Arch, st.sampled_from([each.number for each in KNOWN]), st.sampled_from("af")),
        unique=True,
    )
)
def test_architectures_round_trip(archs: list[Arch]) -> None:
    given_archs = tuple(archs)
    assert parse_archs([arch.sm for arch in archs], KNOWN) == given_archs
    assert parse_archs([",".join(arch.dotted for arch in archs)], KNOWN) == given_archs
    assert Target("1.0", tuple(arch.sm for arch in archs)).parsed_archs == given_archs


@given(st.lists(st.text()))
def test_any_text_gives_known_architectures_or_a_usage_error(texts: list[str]) -> None:
    try:
        archs = parse_archs(texts, KNOWN)
    except UsageError:
        return
    assert all(arch.base in KNOWN for arch in archs)


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        ([], ()),
        (["fa3,paged-v2"], ("fa3", "paged-v2")),
        (["paged-v2", "fa3", "paged-v2"], ("paged-v2", "fa3")),
        ([" fa3 ,"], ("fa3",)),
    ],
)
def test_features_as_given_on_the_command_line(texts: list[str], names: tuple[str, ...]) -> None:
    assert parse_features(texts, FEATURES) == names


def test_an_unknown_feature_lists_those_that_exist() -> None:
    with pytest.raises(UsageError) as raised:
        parse_features(["fa3,fa9"], FEATURES)
    assert str(raised.value) == "unknown feature 'fa9'; known: deepseek-v4, fa3, paged-v2"


@given(st.lists(st.sampled_from(FEATURES)))
def test_features_round_trip(names: list[str]) -> None:
    parsed = parse_features([",".join(names)], FEATURES)
    assert set(parsed) == set(names)
    assert parse_features(parsed, FEATURES) == parsed


def test_a_release_that_has_everything_is_accepted() -> None:
    require_features(load.release("0.24.0"), load.project().default_features)


def test_a_feature_that_is_gone_says_where_it_stood() -> None:
    with pytest.raises(UsageError) as raised:
        require_features(load.release("0.33.0"), ["paged-v2"])
    assert str(raised.value) == (
        "vLLM 0.33.0 has no paged-v2: the last release with it is 0.24.0"
        " (vllm 0.24.0 CMakeLists.txt:378)"
    )
    assert raised.value.hint == load.release("0.33.0").features["paged-v2"].note


def test_a_feature_that_came_later_says_when() -> None:
    with pytest.raises(UsageError, match=r"no fa4: the first release with it is 0\.17\.0 \(vllm"):
        require_features(load.release("0.7.2"), ["fa3", "fa4"])


def test_a_feature_that_nobody_knows() -> None:
    with pytest.raises(UsageError, match=r"^vLLM 0\.24\.0 has no fa9$"):
        require_features(load.release("0.24.0"), ["fa9"])
