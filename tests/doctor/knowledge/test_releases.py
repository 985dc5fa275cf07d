"""What is known of the vLLM releases."""

from __future__ import annotations

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from dsv4_doctor.arch import Arch
from dsv4_doctor.errors import UsageError
from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.model import Release, accepts
from dsv4_doctor.target import require_features

RELEASES = [load.release(name) for name in load.release_names()]
NVCC = ["11.8.89", "12.2.140", "12.7", "12.8.61", "12.9.86", "13.0.48", "13.3.73", "13.4.92"]


def name(release: Release) -> str:
    return release.name


def archs(*names: str) -> tuple[Arch, ...]:
    return tuple(Arch.parse(each) for each in names)


# Every release with a source distribution up to 0.33.0: 0.15.x has none.
WITH_SDIST = """
    0.6.0 0.6.1 0.6.1.post1 0.6.1.post2 0.6.2 0.6.3 0.6.3.post1 0.6.4 0.6.4.post1 0.6.5 0.6.6
    0.6.6.post1 0.7.0 0.7.1 0.7.2 0.7.3 0.8.0 0.8.1 0.8.2 0.8.3 0.8.4 0.8.5 0.8.5.post1 0.9.0
    0.9.0.1 0.9.1 0.9.2 0.10.0 0.10.1 0.10.1.1 0.10.2 0.11.0 0.11.1 0.11.2 0.12.0 0.13.0 0.14.0
    0.14.1 0.16.0 0.17.0 0.17.1 0.18.0 0.18.1 0.19.0 0.19.1 0.20.0 0.20.1 0.20.2 0.21.0 0.22.0
    0.22.1 0.23.0 0.24.0 0.25.0 0.25.1 0.26.0 0.27.0 0.27.1 0.28.0 0.29.0 0.30.0 0.31.0 0.32.0
    0.33.0
"""


def test_the_releases_that_are_known() -> None:
    assert set(WITH_SDIST.split()) <= set(load.release_names())


# A release may be shipped with a gap that is known, as {"0.34.0": {"fa3: archs"}}. Today none is.
GAPS: dict[str, set[str]] = {}


@pytest.mark.parametrize("release", RELEASES, ids=name)
def test_what_of_a_shipped_release_is_left_open(release: Release) -> None:
    open_ = GAPS.get(release.name, set())
    assert {each.split(": no rule")[0] for each in release.not_established} == open_
    unknown = {f"{each.name}: {key}" for each in release.features.values() for key in each.unknown}
    assert unknown == open_
    assert release.torch_cuda is not None


@pytest.mark.parametrize(
    ("feature", "first", "last"),
    [
        ("deepseek-v4", "0.20.0", None),
        ("fa2", "0.6.2", None),
        ("fa3", "0.7.0", None),
        ("fa4", "0.17.0", None),
        ("paged-v1", "0.6.0", "0.24.0"),
        ("paged-v2", "0.6.0", "0.24.0"),
        ("flashmla", "0.8.0", None),
        ("deep-gemm", "0.20.0", None),
        ("machete", "0.6.0", None),
    ],
)
def test_where_a_feature_came_and_went(feature: str, first: str, last: str | None) -> None:
    for release in RELEASES:
        there = Version(first) <= release.version and not (last and release.version > Version(last))
        assert release.has(feature) is there, release.name


def test_who_calls_paged_attention_v2_on_cuda() -> None:
    for release in RELEASES:
        feature = release.features["paged-v2"]
        if not feature.present:
            continue
        unused = release.version >= Version("0.11")
        assert ("no backend calls it on CUDA" in feature.note) is unused, release.name
        assert ("called by the XFORMERS" in feature.note) is not unused, release.name
        callers = [each.file for each in feature.places if "/backends/" in each.file]
        assert bool(callers) is not unused, release.name


def test_fa3_is_for_hopper() -> None:
    for release in RELEASES:
        feature = release.features["fa3"]
        if not feature.present:
            continue
        runs = {sm for sm in (80, 86, 89, 90, 100, 120) if feature.has_kernels_for(Arch(sm))}
        # The part for 8.x was left out at 0.12.0.
        assert runs == ({80, 90} if release.version < Version("0.12") else {90}), release.name
        assert Arch.parse("9.0a") in feature.archs


def test_what_came_and_went_is_the_same_in_every_release() -> None:
    for feature in load.project().feature_titles:
        present = [each.version for each in RELEASES if each.has(feature)]
        for release in RELEASES:
            known = release.features[feature]
            if known.first:
                assert min(present) >= Version(known.first) > release.version
            if known.last:
                assert max(present) <= Version(known.last)
            if not known.present:
                assert release.version < min(present) or release.version > max(present)


@pytest.mark.parametrize("release", RELEASES, ids=name)
def test_every_release_says_something_of_the_same_features(release: Release) -> None:
    assert set(release.features) == set(load.project().feature_titles)


@pytest.mark.parametrize("release", RELEASES, ids=name)
def test_exactly_one_list_of_architectures_holds_for_a_compiler(release: Release) -> None:
    for nvcc in NVCC:
        assert sum(accepts(each.nvcc, nvcc) for each in release.cuda_archs) == 1, nvcc


@pytest.mark.parametrize("release", RELEASES, ids=name)
def test_a_feature_that_is_absent_says_since_when_or_until_when(release: Release) -> None:
    for feature in release.features.values():
        if feature.present:
            assert feature.first == ""
            assert not feature.last or Version(feature.last) >= release.version
        else:
            assert (feature.first == "") != (feature.last == ""), feature.name
            assert not feature.last or Version(feature.last) < release.version
            assert not feature.first or Version(feature.first) > release.version
            assert not feature.archs
            assert not feature.file


@pytest.mark.parametrize("release", RELEASES, ids=name)
def test_a_feature_agrees_with_the_extension_that_carries_it(release: Release) -> None:
    extensions = {each.name: each for each in release.extensions}
    for feature in release.features.values():
        if not feature.component:
            continue
        extension = extensions[feature.component]
        assert feature.file == extension.file
        assert feature.optional == extension.optional
        if str(extension.nvcc):
            assert feature.nvcc == extension.nvcc


@pytest.mark.parametrize("release", RELEASES, ids=name)
def test_what_is_downloaded_serves_extensions_that_are_declared(release: Release) -> None:
    declared = {each.name for each in release.extensions}
    for project in release.external_projects:
        assert set(project.components) <= declared


@pytest.mark.parametrize("release", RELEASES, ids=name)
def test_a_feature_is_compiled_for_what_the_release_supports(release: Release) -> None:
    supported = release.archs_for("13.0.88")
    assert supported is not None
    majors = {arch.major for arch in supported.archs}
    for feature in release.features.values():
        assert {arch.base for arch in feature.archs} <= set(supported.archs), feature.name
        assert set(feature.ptx) <= set(feature.archs)
        assert set(feature.compute_majors) <= majors


@pytest.mark.parametrize("release", RELEASES, ids=name)
def test_the_pins_can_be_read(release: Release) -> None:
    assert Version(release.torch.value).release
    assert release.torch_cuda is not None
    assert release.triton is not None
    assert Version(release.torch_cuda.value).release
    assert Version(release.main_cuda.value).release
    assert Version(release.cmake.value).release
    assert len(SpecifierSet(release.requires_python.value)) >= 1
    assert len(SpecifierSet(release.triton.value)) == 1


@pytest.mark.parametrize("release", RELEASES, ids=name)
def test_paged_attention_is_compiled_from_its_own_source(release: Release) -> None:
    for version in ("v1", "v2"):
        feature = release.features[f"paged-{version}"]
        if feature.present:
            assert len(feature.units) == 1
            assert feature.units[0].endswith(
                "/attention_kernels.cu"  # One source with both, until 0.6.4.
                if release.version < Version("0.6.4")
                else f"/paged_attention_{version}.cu"
            )


def test_where_paged_attention_v2_went() -> None:
    with pytest.raises(UsageError, match=r"0\.33\.0 has no paged-v2") as raised:
        require_features(load.release("0.33.0"), ["fa3", "paged-v2"])
    assert "last release with it is 0.24.0 (vllm 0.24.0 CMakeLists.txt:378)" in str(raised.value)
    assert "0.25.0" in raised.value.hint


def test_the_release_of_the_articles_has_no_deepseek_v4() -> None:
    with pytest.raises(UsageError, match=r"the first release with it is 0\.20\.0"):
        require_features(load.release("0.7.2"), ["deepseek-v4"])


@pytest.mark.parametrize(
    ("name", "expected", "nvcc"),
    [
        ("0.7.2", archs("8.0", "9.0a"), ">=12.0"),
        ("0.20.2", archs("9.0a"), ">=12.3"),
        ("0.24.0", archs("9.0a"), ">=12.3"),
        ("0.33.0", archs("9.0a"), ">=12.3"),
    ],
)
def test_fa3(name: str, expected: tuple[Arch, ...], nvcc: str) -> None:
    feature = load.release(name).features["fa3"]
    assert feature.archs == expected
    assert feature.nvcc == SpecifierSet(nvcc)
    assert feature.file == "vllm/vllm_flash_attn/_vllm_fa3_C.abi3.so"
    assert not feature.optional


@pytest.mark.parametrize(
    ("name", "majors"), [("0.20.2", (9, 10)), ("0.24.0", (9, 10, 12)), ("0.33.0", (9, 10, 12))]
)
def test_the_gpus_that_serve_deepseek_v4(name: str, majors: tuple[int, ...]) -> None:
    assert load.release(name).features["deepseek-v4"].compute_majors == majors


@pytest.mark.parametrize(
    ("name", "floors"),
    [
        ("0.7.2", []),
        ("0.20.2", []),
        ("0.24.0", [("11.3", "all")]),
        ("0.33.0", [("11.3", "all"), ("13", "cuda")]),
    ],
)
def test_the_floors_for_gcc(name: str, floors: list[tuple[str, str]]) -> None:
    assert [(str(each.minimum), each.scope) for each in load.release(name).gcc] == floors


@pytest.mark.parametrize(
    ("name", "nvcc", "arch", "supported"),
    [
        ("0.7.2", "13.0.88", "12.0", False),
        ("0.24.0", "12.4.131", "10.0", False),
        ("0.24.0", "12.8.61", "10.3", True),
        ("0.24.0", "13.0.48", "10.3", False),
        ("0.24.0", "13.0.48", "7.0", False),
        ("0.33.0", "13.3.73", "10.7", False),
        ("0.33.0", "13.4.92", "10.7", True),
    ],
)
def test_architectures_depend_on_the_compiler(
    name: str, nvcc: str, arch: str, supported: bool
) -> None:
    found = load.release(name).archs_for(nvcc)
    assert found is not None
    assert (Arch.parse(arch) in found.archs) is supported


def test_deep_gemm_needs_a_compiler_on_the_server() -> None:
    for release in RELEASES:
        feature = release.features["deep-gemm"]
        assert (feature.runtime_nvcc is not None) is feature.present
    newest = load.release("0.33.0").features["deep-gemm"].runtime_nvcc
    assert newest is not None
    assert accepts(newest, "12.9.86")
    assert not accepts(newest, "12.8.93")
