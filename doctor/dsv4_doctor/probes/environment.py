"""The environment variables that change how vLLM is built or served."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsv4_doctor.probes.registry import Request

NAMES = (
    "ALL_PROXY",
    "CC",
    "CONDA_PREFIX",
    "CUDACXX",
    "CUDAHOSTCXX",
    "CXX",
    "GIT_SSL_CAINFO",
    "GIT_SSL_NO_VERIFY",
    "HF_HOME",
    "HF_HUB_CACHE",
    "HF_HUB_OFFLINE",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "LD_AUDIT",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "MAX_JOBS",
    "NO_PROXY",
    "NVCC_APPEND_FLAGS",
    "NVCC_CCBIN",
    "NVCC_PREPEND_FLAGS",
    "NVCC_THREADS",
    "OMP_NUM_THREADS",
    "PATH",
    "PYTHONPATH",
    "TMPDIR",
    "TORCH_CUDA_ARCH_LIST",
    "TRANSFORMERS_OFFLINE",
    "VIRTUAL_ENV",
    "XDG_CACHE_HOME",
    "all_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
)
PREFIXES = (
    "CMAKE_",
    "CUDA_",
    "DG_",
    "FLASHINFER_",
    "FLASH_ATTENTION_",
    "GLOO_",
    "NCCL_",
    "NVIDIA_",
    "PIP_",
    "PYTORCH_",
    "SETUPTOOLS_SCM_",
    "TORCH_",
    "TRITON_",
    "UV_",
    "VLLM_",
)
# Written instead of a value that may be a secret: that it is set is the fact.
HIDDEN = "<set>"

_SECRET = re.compile(r"TOKEN|KEY|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
_USER = r"(?<=://)[^/@\s]+@"


def probe(_request: Request) -> dict[str, str]:
    """Return the variables that matter, as they are set."""
    return select(os.environ)


def select(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that matter, by name, without the values of secrets."""
    return {
        name: HIDDEN if _SECRET.search(name) else without_password(_printable(value))
        for name, value in sorted(environ.items())
        if name in NAMES or name.startswith(PREFIXES)
    }


def without_password(address: str) -> str:
    """Return a text without the names and passwords of addresses in it."""
    return re.sub(_USER, f"{HIDDEN}@", address) if "://" in address else address


def _printable(value: str) -> str:
    """Replace bytes that are no text: a snapshot is JSON in UTF-8."""
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
