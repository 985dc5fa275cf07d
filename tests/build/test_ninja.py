from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_build import ninja
from dsv4_build.only import Narrowed, UnitWish
from dsv4_doctor.errors import UsageError

LISTED = """\
CMakeFiles/_C.dir/csrc/attention/paged_attention_v2.cu.o: CUDA_COMPILER___C_unscanned_Release
CMakeFiles/_C.dir/csrc/bindings.cpp.o: CXX_COMPILER___C_unscanned_Release
_C.abi3.so: CUDA_MODULE_LIBRARY_LINKER___C_Release
fa/CMakeFiles/_vllm_fa3_C.dir/hopper/flash_fwd.cu.o: CUDA_COMPILER___vllm_fa3_C_unscanned_Release
fa/_vllm_fa3_C.abi3.so: CUDA_SHARED_LIBRARY_LINKER___vllm_fa3_C_RelWithDebInfo
CMakeFiles/edit_cache.util: CUSTOM_COMMAND
all: phony
build.ninja: RERUN_CMAKE
"""


def test_objects_and_modules_are_recognised() -> None:
    targets = ninja.parse_targets(LISTED)
    assert [(unit.component, unit.source) for unit in targets.units] == [
        ("_C", "csrc/attention/paged_attention_v2.cu"),
        ("_C", "csrc/bindings.cpp"),
        ("_vllm_fa3_C", "hopper/flash_fwd.cu"),
    ]
    assert targets.modules == {"_C": "_C.abi3.so", "_vllm_fa3_C": "fa/_vllm_fa3_C.abi3.so"}


def test_goals_are_the_targets_of_ninja() -> None:
    narrowed = Narrowed((UnitWish("paged_attention_v2.cu"),), ("_vllm_fa3_C",), ())
    goals = ninja.goals(ninja.parse_targets(LISTED), narrowed)
    assert goals.targets == (
        "CMakeFiles/_C.dir/csrc/attention/paged_attention_v2.cu.o",
        "fa/_vllm_fa3_C.abi3.so",
    )


def test_a_source_of_two_targets_is_built_for_both() -> None:
    text = LISTED + "CMakeFiles/_D.dir/csrc/bindings.cpp.o: CXX_COMPILER___D_unscanned_Release\n"
    goals = ninja.goals(ninja.parse_targets(text), Narrowed((UnitWish("bindings.cpp"),), (), ()))
    assert [unit.component for unit in goals.units] == ["_C", "_D"]


def test_a_unit_that_is_not_there_names_close_ones() -> None:
    narrowed = Narrowed((UnitWish("paged_attention_v3.cu"),), (), ())
    with pytest.raises(UsageError, match=r"close: paged_attention_v2\.cu") as caught:
        ninja.goals(ninja.parse_targets(LISTED), narrowed)
    assert "COMPONENT" not in str(caught.value)


def test_a_module_that_is_not_there_lists_those_that_are() -> None:
    with pytest.raises(UsageError, match="it builds: _C, _vllm_fa3_C"):
        ninja.goals(ninja.parse_targets(LISTED), Narrowed((), ("_flashmla_C",), ()))


@given(text=st.text(alphabet="abC/.:_ \nCMakeFiles.dir.o_LIBRARY_LINKER__", max_size=200))
def test_any_text_is_read(text: str) -> None:
    ninja.parse_targets(text)


@given(text=st.text(max_size=200))
def test_any_text_at_all_is_read(text: str) -> None:
    ninja.parse_targets(text)
