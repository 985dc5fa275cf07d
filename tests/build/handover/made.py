"""Materials, and a plan, for tests of what is said about a wheel."""

from __future__ import annotations

from pathlib import Path

from tests.build import planning

from dsv4_build.handover.archive import Identity
from dsv4_build.handover.materials import Material
from dsv4_build.plan import Plan
from dsv4_build.planner import make_plan

COMMIT, OTHER = "1" * 40, "2" * 40
WHEEL = Identity("vllm", "0.24.0+cu130.sm90", "vllm.whl", "vllm-0.24.0+cu130.sm90.dist-info")

TREE = Material("source", "vllm", "0.24.0", "pkg:pypi/vllm@0.24.0", ("sha256", "a" * 64))
PROJECT = Material(
    "source",
    "vllm-flash-attn",
    COMMIT,
    f"pkg:github/vllm-project/flash-attention@{COMMIT}",
    ("gitCommit", COMMIT),
    "https://github.com/vllm-project/flash-attention.git",
)
MODULE = Material(
    "source",
    "vllm-flash-attn/csrc/cutlass",
    OTHER,
    f"pkg:github/nvidia/cutlass@{OTHER}",
    ("gitCommit", OTHER),
    "https://github.com/NVIDIA/cutlass.git",
    "vllm-flash-attn",
)
NVCC = Material(
    "tool", "cuda/bin/nvcc", "13.0.88", "pkg:generic/cuda/bin/nvcc@13.0.88", ("sha256", "b" * 64)
)
TORCH = Material("tool", "torch", "2.11.0", "pkg:pypi/torch@2.11.0")
MATERIALS = (TREE, PROJECT, MODULE, NVCC, TORCH)


def plan(tmp_path: Path) -> Plan:
    """Return a plan for a vLLM tree."""
    request = planning.vllm_request(planning.vllm_tree(tmp_path))
    return make_plan(request, planning.machine(), planning.around(tmp_path))
