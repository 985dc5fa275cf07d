"""Kernels that a tree compiles, by their lists of architectures."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.version import Version

from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.extract.kernel_groups import groups
from dsv4_doctor.knowledge.extract.nvcc import walk_all
from dsv4_doctor.knowledge.extract.tree import SourceTree

UTILS = """\
function(cuda_archs_sm90plus OUT_CUDA_ARCHS TGT_CUDA_ARCHS)
  if(${CMAKE_CUDA_COMPILER_VERSION} VERSION_GREATER_EQUAL 13.0)
    cuda_archs_loose_intersection(_archs "9.0a;10.0f" "${TGT_CUDA_ARCHS}")
  else()
    cuda_archs_loose_intersection(_archs "9.0a;10.0a" "${TGT_CUDA_ARCHS}")
  endif()
  set(${OUT_CUDA_ARCHS} ${_archs} PARENT_SCOPE)
endfunction()
"""
CMAKE = """\
include(cmake/utils.cmake)
set(CUDA_SUPPORTED_ARCHS "8.0;9.0;10.0")
set(SRC
  "csrc/cache_kernels.cu"
  "csrc/torch_bindings.cpp"
  "csrc/fp8/common.cu")
set_gencode_flags_for_srcs(SRCS "${SRC}" CUDA_ARCHS "${CUDA_ARCHS}")
cuda_archs_loose_intersection(SCALED_MM_ARCHS "9.0a" "${CUDA_ARCHS}")
if(${CMAKE_CUDA_COMPILER_VERSION} VERSION_GREATER_EQUAL 12.3 AND SCALED_MM_ARCHS)
  set(SRCS "csrc/scaled_mm_c3x_sm90.cu")
  set_gencode_flags_for_srcs(SRCS "${SRCS}" CUDA_ARCHS "${SCALED_MM_ARCHS}")
  list(APPEND SRC "${SRCS}")
endif()
cuda_archs_sm90plus(ROUTER_GEMM_ARCHS "${CUDA_ARCHS}")
if(ROUTER_GEMM_ARCHS)
  set(SRCS "csrc/router.cu")
  list(PREPEND SRCS "csrc/entry.cpp")
  set_gencode_flags_for_srcs(SRCS "${SRCS}" CUDA_ARCHS "${ROUTER_GEMM_ARCHS}")
  list(APPEND SRC "${SRCS}")
endif()
set_gencode_flags_for_srcs(SRCS "csrc/open.cu" CUDA_ARCHS "${FROM_ELSEWHERE}")
define_extension_target(_C SOURCES ${SRC} ARCHITECTURES ${VLLM_GPU_ARCHES})
include(cmake/jit.cmake)
"""
JIT = """\
cuda_archs_loose_intersection(JITTED_ARCHS "9.0a;11.0a" "${CUDA_ARCHS}")
"""
RULES: list[dict[str, Any]] = [
    {"name": "mm-sm90", "sources": "scaled_mm_c3x_sm90"},
    {"name": "fp8", "sources": "fp8/common", "every": True},
]


def tree(cmake: str = CMAKE) -> SourceTree:
    files = {"CMakeLists.txt": cmake, "cmake/utils.cmake": UTILS, "cmake/jit.cmake": JIT}
    return SourceTree("t", "0.1", "", {name: text.encode() for name, text in files.items()})


def found() -> dict[str, dict[str, Any]]:
    return {name: said for name, (said, _, _) in groups(walk_all(tree()), RULES).items()}


def test_groups_with_their_architectures_by_compiler() -> None:
    assert found() == {
        "cache-kernels": {"archs": {"": "*"}, "extension": "_C"},
        "fp8": {"archs": {"": "*"}, "extension": "_C"},
        "mm-sm90": {"archs": {">=12.3": "9.0a"}, "extension": "_C"},
        "router-gemm": {
            "archs": {"<13.0": "9.0a 10.0a", ">=13.0": "9.0a 10.0f"},
            "extension": "_C",
        },
        "from-elsewhere": {},
        "jitted": {"archs": {"": "9.0a"}},
    }


def test_a_tree_that_gives_no_architectures_compiles_everything_for_the_build() -> None:
    cmake = (
        'set(SRC "csrc/a.cu" "csrc/own.cu" "csrc/b.cpp")\n'
        'set_source_files_properties("csrc/own.cu" PROPERTIES COMPILE_FLAGS "-gencode x")\n'
        "define_gpu_extension_target(_C SOURCES ${SRC})\n"
    )
    read = {name: said for name, (said, _, _) in groups(walk_all(tree(cmake)), RULES).items()}
    assert read == {"a": {"archs": {"": "*"}, "extension": "_C"}, "own": {"extension": "_C"}}


def test_where_a_group_stands() -> None:
    places = {name: said[1:] for name, said in groups(walk_all(tree()), RULES).items()}
    assert places["cache-kernels"] == ("CMakeLists.txt", 4)
    assert places["mm-sm90"] == ("CMakeLists.txt", 11)
    assert places["jitted"] == ("cmake/jit.cmake", 1)


@settings(max_examples=40, deadline=None)
@given(cut=st.floats(0, 1), junk=st.sampled_from(["", ")", "(", '"', "if(", "${", "[["]))
def test_any_cmake_gives_groups_or_none(cut: float, junk: str) -> None:
    at = int(cut * len(CMAKE))
    for text in (CMAKE[:at] + junk, CMAKE[:at] + junk + CMAKE[at:]):
        for said, file, line in groups(walk_all(tree(text)), RULES).values():
            assert set(said) <= {"archs", "extension"}
            assert file.endswith((".txt", ".cmake"))
            assert line > 0


def archs(name: str, release: str) -> Any:
    says = load.compiled()[name].says(release)
    return None if says is None else says["archs"]


def test_what_vllm_compiles() -> None:
    assert archs("machete", "0.24.0") == {">=12.0": "9.0a"}
    assert archs("cutlass-scaled-mm-sm90", "0.7.2") == {">=12.0": "9.0a"}
    assert archs("cutlass-scaled-mm-c2x", "0.7.2") == {"": "7.5 8.0 8.6 8.7 8.9 9.0"}
    assert archs("cutlass-moe-grouped-sm90", "0.33.0") == {">=12.3": "9.0a"}
    assert archs("cutlass-scaled-mm-sm120", "0.20.2")[">=13.0"] == "12.0f"
    assert archs("nvfp4-sm100", "0.24.0")[">=13.0"] == "10.0f 11.0f"
    assert archs("hadamard", "0.33.0") == {"": "8.0+PTX 9.0+PTX"}
    assert archs("paged-attention-v2", "0.24.0") == {"": "*"}
    assert archs("paged-attention-v2", "0.25.0") is None


def test_when_kernels_came_and_went() -> None:
    spans = {name: each.spans for name, each in load.compiled().items()}
    assert spans["allspark"][-1][1] == "0.30.0"
    assert spans["cutlass-sparse-2:4"][-1][1] < "0.20"
    assert spans["cooperative-topk"][0][0] == "0.24.0"


def test_a_component_agrees_with_the_feature_of_the_same_kernels() -> None:
    for name in load.release_names():
        feature = load.release(name).features["machete"]
        says = load.compiled()["machete"].says(name)
        assert (says is not None) is feature.present
        if says is not None:
            assert says["extension"] == feature.component
            # Before 0.6.3 by compiler flags, which are not read.
            read = Version(name) >= Version("0.6.3")
            assert list(says.get("archs", ())) == ([str(feature.nvcc)] if read else [])
