"""Matrices that somebody recommends, beside what upstream's source says."""

from __future__ import annotations

import pytest

from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.model import Profile

PROFILES = [load.profile(name) for name in load.profile_names()]


def name(profile: Profile) -> str:
    return profile.name


@pytest.mark.parametrize("profile", PROFILES, ids=name)
def test_a_profile_is_about_a_known_release(profile: Profile) -> None:
    assert load.release(profile.release).name == profile.release
    assert load.profile(profile.name) is profile


@pytest.mark.parametrize("profile", PROFILES, ids=name)
def test_a_verdict_rests_on_a_place(profile: Profile) -> None:
    for claim in profile.claims:
        assert claim.verdict in {"confirmed", "contradicted", "silent"}
        assert claim.versions
        if claim.verdict != "silent":
            assert claim.place is not None
            assert claim.upstream


def test_the_articles_matrix() -> None:
    asked = {claim.subject: claim.versions for claim in load.profile("article").claims}
    assert asked == {
        "cuda": ("12.2", "12.2.2"),
        "torch": ("2.3.0", "2.3.1"),
        "triton": ("2.3.0", "2.3.1"),
        "flash-attn": ("2.6.3",),
        "vllm": ("0.7.2",),
    }


def test_where_upstream_contradicts_the_articles() -> None:
    claims = {claim.subject: claim for claim in load.profile("article").claims}
    contradicted = {name for name, claim in claims.items() if claim.verdict == "contradicted"}
    assert contradicted == {"torch", "triton", "flash-attn", "vllm"}
    assert "2.5.1" in claims["torch"].upstream
    assert str(claims["torch"].place) == "vllm 0.7.2 requirements-cuda.txt:7"


def test_what_the_profile_says_of_upstream_is_what_the_release_file_says() -> None:
    claims = {claim.subject: claim for claim in load.profile("article").claims}
    release = load.release(load.profile("article").release)
    assert release.torch.value in claims["torch"].upstream
    assert release.main_cuda.value in claims["cuda"].upstream
    assert release.triton is not None
    assert release.triton.value.removeprefix("==") in claims["triton"].upstream
    assert claims["triton"].place == release.triton.place
    assert release.features["deepseek-v4"].first in claims["vllm"].upstream
    assert claims["vllm"].place in release.features["deepseek-v4"].places
