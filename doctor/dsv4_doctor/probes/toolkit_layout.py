"""Where the files of a CUDA toolkit lie: classic trees, ``targets/``, conda's and pip's."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dsv4_doctor.probes import cuda_files, files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dsv4_doctor.facts.toolkit import HostCompilerLimits

# What NVIDIA calls the directory of a processor under targets/; 64-bit ARM has two.
_TARGETS = {"aarch64": ("sbsa-linux", "aarch64-linux")}

# Headers that torch's headers and vLLM's CUDA sources include, besides those of the compiler.
_HEADERS = (
    "cuda_runtime.h",
    "crt/host_config.h",
    "cublas_v2.h",
    "cusparse.h",
    "cusolverDn.h",
    "curand.h",
    "nvrtc.h",
    # Of CCCL, which cuda_fp16.h includes, and of NVTX, for which torch's CMake files look.
    "nv/target",
    "nvtx3/nvToolsExt.h",
)
# What nvcc starts besides cicc, and the library of device functions that it links.
_PROGRAMS = ("bin/ptxas", "bin/cudafe++", "bin/fatbinary")
_LIBDEVICE = "nvvm/libdevice/libdevice.10.bc"
# CMake's FindCUDAToolkit wants the runtime and the driver's stub, both without a version.
_LIBRARIES = ("libcudart.so", "stubs/libcuda.so")


def _targets(machine: str) -> tuple[str, ...]:
    names = _TARGETS.get(machine, (f"{machine}-linux",))
    return tuple(f"targets/{name}" for name in names)


def include_directories(root: Path, machine: str | None = None) -> Iterator[Path]:
    """Yield the directories of a toolkit that hold headers, ``include`` first."""
    for below in (".", *_targets(machine or os.uname().machine)):
        directory = root / below / "include"
        if files.is_directory(directory):
            yield directory
            # Since CUDA 13 nvcc adds this one itself, for the headers of CCCL.
            if files.is_directory(directory / "cccl"):
                yield directory / "cccl"


def library(root: Path, name: str) -> Path | None:
    """Return a library of the toolkit, ``None`` when it is not there."""
    return files.first_file(root / each / name for each in _library_directories())


def is_runtime(root: Path) -> bool:
    """Whether the directory holds the CUDA runtime's library, as an image without a compiler."""
    names = (name for each in _library_directories() for name in files.names(root / each))
    return any(name.startswith("libcudart.so") for name in names)


def _library_directories() -> tuple[str, ...]:
    return ("lib64", "lib", *(f"{each}/lib" for each in _targets(os.uname().machine)))


def header(root: Path, name: str) -> Path | None:
    """Return a header of the toolkit, ``None`` when it is not there."""
    return files.first_file(directory / name for directory in include_directories(root))


def is_toolkit(root: Path) -> bool:
    """Whether the directory holds a compiler, the runtime's headers or library, or a manifest."""
    return (
        files.is_file(root / "bin/nvcc")
        or header(root, "cuda.h") is not None
        or manifest_version(root) is not None
        or is_runtime(root)
    )


def missing(root: Path) -> tuple[str, ...]:
    """Return what a build with CMake and torch needs and the toolkit does not have."""
    headers = list(include_directories(root))
    # Debian keeps cicc beside nvcc.
    wanted = {
        "bin/nvcc": [root / "bin/nvcc"],
        "nvvm/bin/cicc": [root / "nvvm/bin/cicc", root / "bin/cicc"],
        _LIBDEVICE: [root / _LIBDEVICE, root / "libdevice/libdevice.10.bc"],
    }
    wanted.update((name, [root / name]) for name in _PROGRAMS)
    wanted.update((f"include/{name}", [each / name for each in headers]) for name in _HEADERS)
    gone = [name for name, paths in wanted.items() if not any(map(files.is_file, paths))]
    gone += [f"lib64/{name}" for name in _LIBRARIES if library(root, name) is None]
    return tuple(gone)


def manifest_version(root: Path) -> str | None:
    """Return the version in ``version.json``."""
    text = files.read(root / "version.json")
    return cuda_files.parse_manifest(text) if text is not None else None


def header_version(root: Path) -> str | None:
    """Return the version in ``cuda.h``."""
    path = header(root, "cuda.h")
    text = files.read(path) if path is not None else None
    return cuda_files.parse_cuda_header(text) if text is not None else None


def host_compiler_limits(root: Path) -> HostCompilerLimits | None:
    """Return what the toolkit's ``crt/host_config.h`` accepts, ``None`` without that header."""
    path = header(root, "crt/host_config.h")
    text = files.read(path) if path is not None else None
    return cuda_files.parse_host_config(text, str(path)) if text is not None else None
