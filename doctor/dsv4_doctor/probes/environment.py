"""The environment variables that change how vLLM is built or served."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsv4_doctor.probes.registry import Request

NAMES = (
    "CC",
    "CONDA_PREFIX",
    "CUDACXX",
    "CUDAHOSTCXX",
    "CXX",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "MAX_JOBS",
    "NVCC_APPEND_FLAGS",
    "NVCC_CCBIN",
    "NVCC_PREPEND_FLAGS",
    "NVCC_THREADS",
    "PATH",
    "PYTHONPATH",
    "TORCH_CUDA_ARCH_LIST",
    "VIRTUAL_ENV",
)
PREFIXES = (
    "CMAKE_",
    "CUDA_",
    "DG_",
    "FLASHINFER_",
    "NCCL_",
    "NVIDIA_",
    "PYTORCH_",
    "SETUPTOOLS_SCM_",
    "TRITON_",
    "VLLM_",
)
# Written instead of a value that may be a secret: that it is set is the fact.
HIDDEN = "<set>"

_SECRET = re.compile(r"TOKEN|KEY|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)


def probe(_request: Request) -> dict[str, str]:
    """Return the variables that matter, as they are set."""
    return select(os.environ)


def select(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that matter, by name, without the values of secrets."""
    return {
        name: HIDDEN if _SECRET.search(name) else _printable(value)
        for name, value in sorted(environ.items())
        if name in NAMES or name.startswith(PREFIXES)
    }


def _printable(value: str) -> str:
    """Replace bytes that are no text: a snapshot is JSON in UTF-8."""
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
