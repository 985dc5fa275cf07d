"""Which release fits, and what is in the way."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_doctor.arch import Arch
from dsv4_doctor.errors import UsageError
from dsv4_doctor.knowledge import load
from dsv4_doctor.releases.find import Wanted, fit, version
from dsv4_doctor.releases.find_more import parse_flags, parse_kernels

RELEASES = [load.release(name) for name in load.release_names()]
HOPPER = (Arch.parse("sm_90"),)
ALL = ("fa3", "paged-v2", "deepseek-v4")


def fitting(wanted: Wanted) -> list[str]:
    return [each.name for each in RELEASES if fit(each, wanted).good]


def first(name: str, wanted: Wanted) -> str:
    return fit(load.release(name), wanted).obstacles[0].text


def test_the_question_that_people_ask() -> None:
    wanted = Wanted(ALL, HOPPER, "13.0", "2.11")
    assert fitting(wanted)[0] == "0.24.0"
    assert first("0.33.0", wanted) == "no paged-v2: the last release with it is 0.24.0"
    assert first("0.18.1", wanted) == "no deepseek-v4: the first release with it is 0.20.0"


@pytest.mark.parametrize(
    ("name", "wanted", "obstacle"),
    [
        ("0.24.0", Wanted(torch="2.10"), "it pins torch 2.11.0"),
        ("0.24.0", Wanted(archs=(Arch.parse("sm_70"),), cuda="13.0"), "no kernels for sm_70"),
        ("0.24.0", Wanted(("fa3",), cuda="12.2"), "fa3 needs nvcc >=12.3"),
        ("0.24.0", Wanted(("fa3",), (Arch.parse("sm_80"),)), "fa3 does not run on sm_80"),
        ("0.24.0", Wanted(("deepseek-v4",), HOPPER, "12.8"), "deepseek-v4 needs flashmla"),
        ("0.8.5", Wanted(("fa3",), (Arch.parse("sm_89"),)), "fa3 does not run on sm_89"),
        (
            "0.30.0",
            Wanted(("deepseek-v4",), (Arch.parse("sm_120"),), "12.8"),
            "deepseek-v4 needs deep-gemm, which needs nvcc >=12.9 on the server",
        ),
    ],
)
def test_what_is_in_the_way(name: str, wanted: Wanted, obstacle: str) -> None:
    assert first(name, wanted).startswith(obstacle)
    assert fit(load.release(name), wanted).obstacles[0].place is not None


@pytest.mark.parametrize("torch", ["2", "2.11", "2.11.0"])
def test_torch_may_be_given_by_its_beginning(torch: str) -> None:
    assert fit(load.release("0.24.0"), Wanted(torch=torch)).good


def test_what_could_not_be_read_does_not_fit() -> None:
    release = load.release("0.24.0")
    unread = replace(release.features["fa3"], compute_majors=(), unknown=("compute_majors",))
    release = replace(release, features={**release.features, "fa3": unread})
    assert fit(release, Wanted(("fa3",), HOPPER)).obstacles[0].text == (
        "whether fa3 runs on sm_90 could not be read"
    )


def test_another_gpu_does_not_miss_what_it_has_no_kernels_of() -> None:
    blackwell = Wanted(("deepseek-v4",), (Arch.parse("sm_120"),), "12.8")
    texts = [each.text for each in fit(load.release("0.24.0"), blackwell).obstacles]
    assert not any("flashmla" in text for text in texts)


@pytest.mark.parametrize("text", ["", "thirteen", "13.x"])
def test_a_version_that_is_none(text: str) -> None:
    with pytest.raises(UsageError, match="--cuda"):
        version(text, "--cuda")


@given(
    st.lists(st.sampled_from(sorted(load.project().feature_titles)), unique=True, max_size=4),
    st.sampled_from(["", "12.4", "12.8", "13.0", "13.4"]),
    st.sampled_from(["", "2.9", "2.11", "2.14"]),
)
def test_who_asks_for_less_gets_no_fewer(features: list[str], cuda: str, torch: str) -> None:
    whole = set(fitting(Wanted(tuple(features), HOPPER, cuda, torch)))
    assert whole <= set(fitting(Wanted(tuple(features[1:]), HOPPER, cuda, torch)))
    assert whole <= set(fitting(Wanted(tuple(features), HOPPER, cuda)))
    assert whole <= set(fitting(Wanted(tuple(features), (), cuda, torch)))


def texts(name: str, wanted: Wanted) -> list[str]:
    return [each.text for each in fit(load.release(name), wanted).obstacles]


@pytest.mark.parametrize(
    ("name", "flag", "obstacle"),
    [
        ("0.24.0", "--log-level", "no --log-level: the first release with it is 0.31.0"),
        ("0.33.0", "--swap-space", "no --swap-space: the last release with it is 0.17.1"),
        ("0.33.0", "--disable-cascade-attn", "--disable-cascade-attn does nothing: "),
        ("0.24.0", "--disable-log-requests", "no --disable-log-requests: the last release"),
    ],
)
def test_a_flag_in_the_way(name: str, flag: str, obstacle: str) -> None:
    found = fit(load.release(name), Wanted(flags=(flag,))).obstacles
    assert found[0].text.startswith(obstacle)
    assert found[0].place is not None


def test_a_flag_that_is_there_by_another_name() -> None:
    for flag in ("-tp", "--tensor_parallel_size=2", "--no-enable-prefix-caching"):
        assert fit(load.release("0.24.0"), Wanted(flags=(flag,))).good
    assert fit(load.release("0.33.0"), Wanted(flags=("--disable-log-requests",))).good


def test_kernels_in_the_way() -> None:
    kernels = ("machete",)
    assert texts("0.24.0", Wanted(kernels=kernels, archs=HOPPER, cuda="12.8")) == []
    ampere = Wanted(kernels=kernels, archs=(Arch.parse("sm_80"),), cuda="12.8")
    assert texts("0.24.0", ampere) == ["machete does not run on sm_80"]
    assert "machete is not compiled by nvcc 11.8" in texts(
        "0.24.0", Wanted(kernels=kernels, cuda="11.8")
    )
    gone = texts("0.33.0", Wanted(kernels=("allspark",)))
    assert gone == ["no allspark: the last release with it is 0.30.0"]
    later = texts("0.7.2", Wanted(kernels=("hadamard",)))
    assert later[0].startswith("no hadamard: the first release with it is 0.")


def test_kernels_compiled_for_every_architecture_run_everywhere() -> None:
    wanted = Wanted(kernels=("paged-attention-v2",), archs=HOPPER, cuda="13.0")
    assert texts("0.24.0", wanted) == []


def test_names_that_no_release_has() -> None:
    with pytest.raises(UsageError, match="did you mean --max-model-len"):
        parse_flags(["--max-model-length"])
    with pytest.raises(UsageError, match="no known vLLM release compiles 'machette'; did you mean"):
        parse_kernels(["machette"])
    assert parse_kernels(["machete, allspark", "machete"]) == ("machete", "allspark")
