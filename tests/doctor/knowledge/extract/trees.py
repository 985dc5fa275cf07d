"""A small source tree in the shapes of vLLM's, for tests of the extractor."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

PYPROJECT = """\
[build-system]
requires = [
    "cmake>=3.26.1",
    "ninja",
    "torch == 2.11.0",
]
build-backend = "setuptools.build_meta"

[project]
name = "vllm"
requires-python = ">=3.10,<3.15"
"""

SETUP = """\
import os
import sys

envs = load_module_from_path("envs", "vllm/envs.py")
jobs = envs.MAX_JOBS
cmake_args = os.environ.get("CMAKE_ARGS")

ext_modules = []

if _is_cuda() or _is_hip():
    ext_modules.append(CMakeExtension(name="vllm.triton_kernels", optional=True))

if sys.version_info >= (3, 11):
    ext_modules.append(CMakeExtension(name="vllm.spinloop"))

if _is_hip():
    ext_modules.append(CMakeExtension(name="vllm._rocm_C"))

if _is_cuda():
    ext_modules.append(CMakeExtension(name="vllm.vllm_flash_attn._vllm_fa2_C"))
    if envs.VLLM_USE_PRECOMPILED or (
        CUDA_HOME and get_nvcc_cuda_version() >= Version("12.3")
    ):
        ext_modules.append(CMakeExtension(name="vllm.vllm_flash_attn._vllm_fa3_C"))
        ext_modules.append(CMakeExtension(name="vllm._deep_gemm_C", optional=True))

if _is_cpu():
    ext_modules.append(CMakeExtension(name="vllm._C_AVX2"))

if _build_custom_ops():
    ext_modules.append(CMakeExtension(name="vllm._C"))
"""

ENVS = """\
environment_variables = {
    "VLLM_MAIN_CUDA_VERSION": lambda: (
        os.getenv("VLLM_MAIN_CUDA_VERSION", "").lower() or "13.0"
    ),
}
"""

CMAKE = """\
cmake_minimum_required(VERSION 3.26)
set(CMAKE_CXX_STANDARD 20)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS "11.3")
  message(FATAL_ERROR "too old")
endif()
include(${CMAKE_CURRENT_LIST_DIR}/cmake/utils.cmake)
if(DEFINED CMAKE_CUDA_COMPILER_VERSION AND
   CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13.0)
  set(CUDA_SUPPORTED_ARCHS "7.5;8.0;9.0;10.0;12.0")
elseif(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.8)
  set(CUDA_SUPPORTED_ARCHS "7.5;8.0;9.0;10.0;10.1;12.0")
else()
  set(CUDA_SUPPORTED_ARCHS "7.5;8.0;9.0")
endif()
if (NOT HIP_FOUND AND NOT PYTORCH_FOUND_HIP AND CUDA_FOUND)
  set(VLLM_GPU_LANG "CUDA")
else()
  message(FATAL_ERROR "no CUDA")
endif()
extract_unique_cuda_archs_ascending(CUDA_ARCHS "${CUDA_ARCH_FLAGS}")
cuda_archs_loose_intersection(CUDA_ARCHS "${CUDA_SUPPORTED_ARCHS}" "${CUDA_ARCHS}")
set(VLLM_EXT_SRC
  "csrc/attention/paged_attention_v1.cu"
  "csrc/attention/paged_attention_v2.cu")
if(VLLM_GPU_LANG STREQUAL "CUDA")
  set(CUTLASS_REVISION "v4.4.2")
  if (DEFINED ENV{VLLM_CUTLASS_SRC_DIR})
    set(VLLM_CUTLASS_SRC_DIR $ENV{VLLM_CUTLASS_SRC_DIR})
  endif()
  if(VLLM_CUTLASS_SRC_DIR)
    FetchContent_Declare(cutlass SOURCE_DIR ${VLLM_CUTLASS_SRC_DIR})
  else()
    FetchContent_Declare(
        cutlass
        GIT_REPOSITORY https://github.com/nvidia/cutlass.git
        # Keep in sync.
        GIT_TAG ${CUTLASS_REVISION})
  endif()
  cuda_archs_loose_intersection(MACHETE_ARCHS "9.0a" "${CUDA_ARCHS}")
  if(${CMAKE_CUDA_COMPILER_VERSION} VERSION_GREATER_EQUAL 12.0 AND MACHETE_ARCHS)
    file(GLOB MACHETE_GEN_SOURCES "csrc/quantization/machete/generated/*.cu")
    list(APPEND VLLM_EXT_SRC ${MACHETE_GEN_SOURCES})
    set_gencode_flags_for_srcs(SRCS "${MACHETE_GEN_SOURCES}" CUDA_ARCHS "${MACHETE_ARCHS}")
  endif()
  set_gencode_flags_for_srcs(SRCS "${VLLM_EXT_SRC}" CUDA_ARCHS "${CUDA_ARCHS}")
  if(${CMAKE_CUDA_COMPILER_VERSION} VERSION_GREATER_EQUAL 13.0)
    cuda_archs_loose_intersection(MARLIN_ARCHS "8.0+PTX;12.0f" "${CUDA_ARCHS}")
  else()
    cuda_archs_loose_intersection(MARLIN_ARCHS "8.0+PTX;12.0a;12.1a" "${CUDA_ARCHS}")
  endif()
  list(JOIN CUDA_ARCHS "," CUDA_ARCHS_STR)
  if(MARLIN_ARCHS)
    set(MARLIN_SRCS "csrc/quantization/marlin/marlin.cu")
    set_gencode_flags_for_srcs(SRCS "${MARLIN_SRCS}" CUDA_ARCHS "${MARLIN_ARCHS}")
    list(APPEND VLLM_EXT_SRC "${MARLIN_SRCS}")
  endif()
endif()
define_extension_target(_C DESTINATION vllm SOURCES ${VLLM_EXT_SRC} USE_SABI 3 WITH_SOABI)
if (VLLM_GPU_LANG STREQUAL "CUDA" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU"
    AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS "13")
  message(FATAL_ERROR "too old for CUDA")
endif()
if(VLLM_GPU_LANG STREQUAL "HIP")
  define_extension_target(_rocm_C DESTINATION vllm SOURCES a.cu)
endif()
include(cmake/external_projects/deepgemm.cmake)
include(cmake/external_projects/vllm_flash_attn.cmake)
"""

UTILS = """\
function(cuda_archs_loose_intersection OUT SRC TGT)
  if(${CMAKE_CUDA_COMPILER_VERSION} VERSION_GREATER 1.5)
    set(CUDA_SUPPORTED_ARCHS "never")
  endif()
endfunction()
"""

DEEPGEMM = """\
if (DEFINED ENV{DEEPGEMM_SRC_DIR})
  set(DEEPGEMM_SRC_DIR $ENV{DEEPGEMM_SRC_DIR})
endif()
if(DEEPGEMM_SRC_DIR)
  set(deepgemm_SOURCE_DIR "${DEEPGEMM_SRC_DIR}")
else()
  set(_TAG "0123456789abcdef0123456789abcdef01234567")
  if(EXISTS "${_src}/api.cpp")
    set(deepgemm_SOURCE_DIR "${_src}")
  else()
    FetchContent_Populate(deepgemm
      GIT_REPOSITORY "https://github.com/deepseek-ai/DeepGEMM.git"
      GIT_TAG "${_TAG}")
  endif()
endif()
set(SUPPORT_ARCHS)
if(${CMAKE_CUDA_COMPILER_VERSION} VERSION_GREATER_EQUAL 12.3)
  list(APPEND SUPPORT_ARCHS "9.0a")
endif()
if(${CMAKE_CUDA_COMPILER_VERSION} VERSION_GREATER_EQUAL 12.9)
  list(APPEND SUPPORT_ARCHS "10.0f")
elseif(${CMAKE_CUDA_COMPILER_VERSION} VERSION_GREATER_EQUAL 12.8)
  list(APPEND SUPPORT_ARCHS "10.0a")
endif()
cuda_archs_loose_intersection(DEEPGEMM_ARCHS "${SUPPORT_ARCHS}" "${CUDA_ARCHS}")
if(DEEPGEMM_ARCHS)
  install(DIRECTORY "${_dir}/" DESTINATION vllm/third_party/deep_gemm
    COMPONENT _deep_gemm_C FILES_MATCHING PATTERN "_C.cpython-*.so")
  add_custom_target(_deep_gemm_C ALL)
  # Install include files needed for JIT compilation at runtime.
else()
  add_custom_target(_deep_gemm_C)
endif()
"""

FLASH_ATTENTION = """\
if (DEFINED ENV{VLLM_FLASH_ATTN_SRC_DIR})
  set(VLLM_FLASH_ATTN_SRC_DIR $ENV{VLLM_FLASH_ATTN_SRC_DIR})
endif()
if(VLLM_FLASH_ATTN_SRC_DIR)
  FetchContent_Declare(vllm-flash-attn SOURCE_DIR ${VLLM_FLASH_ATTN_SRC_DIR})
else()
  FetchContent_Declare(
          vllm-flash-attn
          GIT_REPOSITORY https://github.com/vllm-project/flash-attention.git
          GIT_TAG 803020a8fa15407871341d41eba4919ade2ee1ee
  )
endif()
FetchContent_MakeAvailable(vllm-flash-attn)
foreach(_FA_COMPONENT _vllm_fa2_C _vllm_fa3_C)
  install(DIRECTORY ${vllm-flash-attn_SOURCE_DIR}/x/ DESTINATION y COMPONENT ${_FA_COMPONENT})
endforeach()
"""

DOCKERFILE = """\
ARG CUDA_VERSION=13.0.2
ARG BUILD_BASE_IMAGE=nvidia/cuda:${CUDA_VERSION}-devel
ARG PIP_INDEX_URL
FROM ${BUILD_BASE_IMAGE} AS base
ARG CUDA_VERSION=12.0
ARG torch_cuda_arch_list='9.0 10.0+PTX'
"""

FILES = {
    "PKG-INFO": "Metadata-Version: 2.1\nName: vllm\nVersion: 0.24.0\n\ntext\n",
    "pyproject.toml": PYPROJECT,
    "setup.py": SETUP,
    "CMakeLists.txt": CMAKE,
    "cmake/utils.cmake": UTILS,
    "cmake/external_projects/deepgemm.cmake": DEEPGEMM,
    "cmake/external_projects/vllm_flash_attn.cmake": FLASH_ATTENTION,
    "requirements/common.txt": "numpy\ntransformers >= 5.5.3 # why\n",
    "requirements/cuda.txt": "-r common.txt\n\ntorch==2.11.0\nflashinfer-python==0.6.12\n",
    "vllm/envs.py": ENVS,
    "docker/Dockerfile": DOCKERFILE,
}


def line_of(file: str, text: str) -> str:
    """Return ``FILE:LINE`` of the first line that holds a text."""
    lines = FILES[file].splitlines()
    return f"{file}:{next(at for at, line in enumerate(lines, start=1) if text in line)}"


def directory(path: Path, **changed: str) -> Path:
    """Write the tree, some of its files with other content."""
    for name, text in {**FILES, **changed}.items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return path


def sdist(path: Path, *, top: str = "vllm-0.24.0", **changed: str) -> Path:
    """Write the tree as an sdist."""
    with tarfile.open(path, "w:gz") as archive:
        for name, text in {**FILES, **changed}.items():
            data = text.encode()
            member = tarfile.TarInfo(f"{top}/{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path
