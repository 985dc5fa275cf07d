"""What is inside a CUDA toolkit beyond its compiler: run-time parts, math headers, the stub."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dsv4_doctor.probes import cuda_files, files, toolkit_layout

if TYPE_CHECKING:
    from pathlib import Path

# crt/math_functions.h of CUDA 13.2 has 243 KB.
_MAX_MATH = 1 << 20
# The driver's stub of CUDA 13.0 has 90 KB.
_MAX_STUB = 8 << 20

# What vLLM's own image installs for kernels that are compiled in a running server: cuobjdump,
# nvrtc, curand and cublas besides nvcc (vLLM 0.33.0, docker/Dockerfile:799-817).
_JIT_HEADERS = ("cuda_runtime.h", "cublasLt.h", "curand_kernel.h", "nvrtc.h", "nv/target")
_JIT_LIBRARIES = ("libnvrtc.so",)
# FlashInfer links with -L$cuda_home/lib64 and no other (flashinfer-python 0.6.12,
# flashinfer/jit/cpp_ext.py:254), where conda's and pip's toolkits have lib only.
_LINKED = ("lib64/libcudart.so",)
_JIT_PROGRAMS = ("bin/nvcc", "bin/cuobjdump")


def read(root: Path) -> dict[str, Any]:
    """Return what is in a toolkit, by the names of fields of ``facts.toolkit.Toolkit``."""
    return {
        "runtime_version": _runtime_version(root),
        "cccl_version": _cccl_version(root),
        "missing_jit": missing_jit(root),
        "math_libraries": math_libraries(root),
        "stub_exports": stub_exports(root),
        "math_clashes": _math_clashes(root),
    }


def missing_jit(root: Path) -> tuple[str, ...]:
    """Return what kernels compiled in a running server need and the toolkit does not have."""
    gone = [name for name in (*_JIT_PROGRAMS, *_LINKED) if not files.is_file(root / name)]
    gone += [f"include/{name}" for name in _JIT_HEADERS if not toolkit_layout.header(root, name)]
    gone += [
        f"lib64/{name}" for name in _JIT_LIBRARIES if toolkit_layout.library(root, name) is None
    ]
    return tuple(gone)


def math_libraries(root: Path) -> str | None:
    """Return where the math headers are in NVIDIA's HPC SDK, which keeps them elsewhere.

    ``Linux_x86_64/24.3/cuda/12.3`` has them in ``Linux_x86_64/24.3/math_libs/12.3/include``.
    """
    include = root.parent.parent / "math_libs" / root.name / "include"
    return str(include) if files.is_file(include / "cublas_v2.h") else None


def stub_exports(root: Path) -> bool | None:
    """Return whether the driver's stub defines its functions, ``None`` without a stub."""
    stub = toolkit_layout.library(root, "stubs/libcuda.so")
    if stub is None:
        return None
    try:
        with stub.open("rb") as file:
            return b"\0cuInit\0" in file.read(_MAX_STUB)
    except OSError:
        return None


def _runtime_version(root: Path) -> str | None:
    text = _header(root, "cuda_runtime_api.h")
    return cuda_files.parse_runtime_header(text) if text is not None else None


def _cccl_version(root: Path) -> str | None:
    for name in ("cuda/std/__cccl/version.h", "cuda/std/__cccl/version"):
        text = _header(root, name)
        if text is not None:
            return cuda_files.parse_cccl_header(text)
    return None


def _math_clashes(root: Path) -> tuple[str, ...]:
    text = _header(root, "crt/math_functions.h", _MAX_MATH)
    return cuda_files.parse_math_functions(text) if text is not None else ()


def _header(root: Path, name: str, limit: int | None = None) -> str | None:
    path = toolkit_layout.header(root, name)
    if path is None:
        return None
    return files.read(path) if limit is None else files.read(path, limit)
