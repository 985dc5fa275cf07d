from __future__ import annotations

import pytest

from dsv4_build import only
from dsv4_build.only import UnitWish
from dsv4_doctor.errors import UsageError
from dsv4_doctor.knowledge import load

RELEASE = load.release("0.24.0")
COMPONENTS = [extension.name for extension in RELEASE.extensions]


def _resolve(*names: str) -> only.Narrowed:
    return only.resolve(names, RELEASE.features, COMPONENTS)


def test_a_kernel_by_its_file_name() -> None:
    narrowed = _resolve("paged_attention_v2.cu")
    assert narrowed.units == (UnitWish("paged_attention_v2.cu"),)
    assert narrowed.features == ("paged-v2",)


def test_a_feature_with_sources_of_its_own_is_those_sources() -> None:
    narrowed = _resolve("paged-v2")
    assert [str(unit) for unit in narrowed.units] == list(RELEASE.features["paged-v2"].units)
    assert narrowed.components == ()


def test_a_feature_that_is_a_whole_module_is_that_module() -> None:
    narrowed = _resolve("fa3")
    assert narrowed.components == ("_vllm_fa3_C",)
    assert narrowed.features == ("fa3",)


def test_a_unit_of_a_module_that_serves_one_feature_proves_it() -> None:
    narrowed = _resolve("_vllm_fa3_C:flash_fwd_hdim128_bf16_sm90.cu")
    assert narrowed.features == ("fa3",)
    assert narrowed.touched == {
        "_vllm_fa3_C",
    }


def test_a_unit_of_a_shared_module_proves_nothing_else() -> None:
    assert _resolve("_C_stable_libtorch:activation_kernels.cu").features == ()


def test_names_are_matched_from_the_end_of_the_path() -> None:
    wish = UnitWish("attention/paged_attention_v2.cu")
    assert wish.matches("_C", "csrc/libtorch_stable/attention/paged_attention_v2.cu")
    assert not wish.matches("_C", "csrc/other_attention/paged_attention_v2.cu")
    assert not UnitWish("a.cu", "_C").matches("_moe_C", "csrc/a.cu")


@pytest.mark.parametrize("name", ["flash", "_C", ":a.cu", "_vllm_fa3_C:", "nowhere:a.cu"])
def test_anything_else_is_told_what_exists(name: str) -> None:
    with pytest.raises(UsageError, match="no feature") as caught:
        _resolve(name)
    assert "paged-v2" in str(caught.value)
    assert "_vllm_fa3_C" in str(caught.value)


def test_a_feature_without_anything_to_compile() -> None:
    with pytest.raises(UsageError, match="nothing is compiled for it"):
        _resolve("deepseek-v4")


def test_external_projects_that_nothing_asked_for_are_left_out() -> None:
    left = only.left_out(_resolve("paged_attention_v2.cu"), RELEASE.external_projects)
    names = {project.name for project in left}
    assert "flashmla" in names
    assert "cutlass" not in names


def test_the_project_of_what_was_asked_for_stays() -> None:
    left = only.left_out(_resolve("fa3", "flashmla"), RELEASE.external_projects)
    names = {project.name for project in left}
    assert names.isdisjoint({"vllm-flash-attn", "flashmla", "cutlass"})
    assert "deepgemm" in names
