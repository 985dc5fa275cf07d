"""vLLM's own recipes for DeepSeek-V4: what they give is given, or left out with a reason.

The flags are those that the recipes in the source tree of 0.33.0 make for NVIDIA GPUs, from
``base_args``, the features, the strategy and the hardware of
``recipes/models/deepseek-ai/DeepSeek-V4-Flash.yaml`` and ``-Pro.yaml``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from dsv4_doctor.knowledge import launch as knowledge
from dsv4_doctor.launch.kv import layout
from dsv4_doctor.launch.machine import named
from dsv4_doctor.launch.plan import Plan
from dsv4_doctor.launch.planning import plan
from dsv4_doctor.launch.read_shape import shape
from dsv4_doctor.launch.serving import serving
from dsv4_doctor.launch.source import find

BASE = {
    "--trust-remote-code": "",
    "--kv-cache-dtype": "fp8",
    "--block-size": "256",
    "--tokenizer-mode": "deepseek_v4",
    "--tool-call-parser": "deepseek_v4",
    "--enable-auto-tool-choice": "",
    "--reasoning-parser": "deepseek_v4",
}
INDEX = {"--attention-config.indexer_kv_dtype": "mxfp4"}
MEGA = {**INDEX, "--moe-backend": "deep_gemm_mega_moe"}
DEP = {"--enable-expert-parallel": ""}
GRAPHS = {"--compilation-config": {"cudagraph_mode": "FULL_AND_PIECEWISE", "custom_ops": ["all"]}}


@dataclass(frozen=True)
class Recipe:
    """One recipe, and what is done otherwise here.

    Attributes:
        flags: Beside the common ones.
        instead: Flags of the recipe that have another value here, ``None`` for none at all.
        more: Flags that only the plan has.
    """

    model: str
    gpu: str
    count: int
    goal: Any
    flags: dict[str, Any]
    instead: dict[str, Any] | None = None
    more: dict[str, Any] | None = None


RECIPES = [
    # single_node_dep, on four GPUs.
    Recipe(
        "DeepSeek-V4-Flash", "H200", 4, "throughput",
        {**DEP, **GRAPHS, "--data-parallel-size": "4"},
    ),
    Recipe(
        "DeepSeek-V4-Flash-0731", "B200", 4, "throughput",
        {**DEP, **GRAPHS, **MEGA, "--data-parallel-size": "4"},
    ),
    Recipe(
        "DeepSeek-V4-Flash-0731", "GB200", 4, "throughput",
        {**DEP, **GRAPHS, **MEGA, "--data-parallel-size": "4"},
    ),
    Recipe(
        "nvidia/DeepSeek-V4-Flash-NVFP4", "B200", 4, "throughput",
        {**DEP, **GRAPHS, **INDEX, "--data-parallel-size": "4"},
    ),
    # The same on eight, where the recipe keeps four: more KV cache, vllm-project/vllm#51454.
    Recipe(
        "DeepSeek-V4-Flash", "H200", 8, "throughput",
        {**DEP, **GRAPHS, "--data-parallel-size": "4"},
        instead={"--data-parallel-size": "8"},
    ),
    # single_node_tp: for latency; the draft is a switch of the recipe.
    Recipe(
        "DeepSeek-V4-Flash", "H200", 8, "latency",
        {"--tensor-parallel-size": "8", "--disable-flashinfer-autotune": ""},
        instead={"--disable-flashinfer-autotune": None},
        more={"--speculative-config": {"method": "mtp", "num_speculative_tokens": 1}},
    ),
    Recipe(
        "DeepSeek-V4-Flash", "B200", 8, "latency",
        {"--tensor-parallel-size": "8", **INDEX, "--disable-flashinfer-autotune": ""},
        instead={"--disable-flashinfer-autotune": None},
        more={"--speculative-config": {"method": "mtp", "num_speculative_tokens": 2}},
    ),
    # single_node_tep on PCIe: the two flags are what vLLM takes by itself.
    Recipe(
        "DeepSeek-V4-Flash-0731", "RTX PRO 6000", 8, "throughput",
        {
            **DEP, "--tensor-parallel-size": "8", "--moe-backend": "auto",
            "--attention-config.indexer_kv_dtype": "fp8",
        },
        instead={"--moe-backend": None, "--attention-config.indexer_kv_dtype": None},
    ),
    # Pro.
    Recipe(
        "DeepSeek-V4-Pro-0813", "B300", 8, "throughput",
        {**DEP, **GRAPHS, **MEGA, "--data-parallel-size": "8"},
    ),
    Recipe(
        "nvidia/DeepSeek-V4-Pro-NVFP4", "B300", 8, "throughput",
        {
            **DEP, **GRAPHS, **INDEX, "--data-parallel-size": "8",
            "--moe-backend": "flashinfer_cutedsl",
        },
    ),
    # With the default steps a request of 800,000 tokens does not fit beside the weights.
    Recipe(
        "DeepSeek-V4-Pro", "H200", 8, "throughput",
        {
            **DEP, "--data-parallel-size": "8", "--max-model-len": "800000",
            "--gpu-memory-utilization": "0.95", "--max-num-seqs": "512",
            "--disable-flashinfer-autotune": "",
            "--compilation-config": {"mode": 0, "cudagraph_mode": "FULL_DECODE_ONLY"},
        },
        instead={
            "--max-model-len": "920064", "--max-num-seqs": "168",
            "--disable-flashinfer-autotune": None,
        },
        more={"--max-num-batched-tokens": "2048"},
    ),
]  # fmt: skip


def planned(recipe: Recipe) -> Plan:
    found = find(recipe.model, {"HF_HOME": "/nowhere"})
    on = named(recipe.gpu, recipe.count)
    return plan(found, on, serving("0.33.0"), recipe.goal)


def values(found: Plan) -> dict[str, Any]:
    read: dict[str, Any] = {}
    for each in found.parameters:
        read[each.flag] = json.loads(each.value) if each.value.startswith("{") else each.value
    return read


@pytest.mark.parametrize(
    "recipe", RECIPES, ids=lambda each: f"{each.model}-{each.count}x{each.gpu}-{each.goal}"
)
def test_the_recipe_is_what_is_planned(recipe: Recipe) -> None:
    expected = {**BASE, **recipe.flags, **(recipe.instead or {}), **(recipe.more or {})}
    assert values(planned(recipe)) == {
        flag: value for flag, value in expected.items() if value is not None
    }


def test_the_recipe_of_pro_on_h200_would_not_start_with_its_own_steps() -> None:
    found = planned(RECIPES[-1])
    assert found.memory is not None
    pro = shape(find("DeepSeek-V4-Pro", {"HF_HOME": "/nowhere"}).config)
    cache = layout(pro, knowledge.accounting("0.33.0"), tensor=1, dtype="fp8")
    # Beside the weights alone, without activations and graphs, one request does not fit.
    beside = 0.95 * found.memory.total - found.memory.weights
    assert cache.needed(800_000, 8192) > beside > cache.needed(800_000, 2048)


def test_one_tray_of_gb200_does_not_hold_pro_and_two_do() -> None:
    found = find("DeepSeek-V4-Pro", {"HF_HOME": "/nowhere"})
    release = serving("0.33.0")
    assert not plan(found, named("GB200", 4), release, "throughput").fits
    two = plan(found, named("GB200", 8), release, "throughput")
    assert values(two)["--data-parallel-size"] == "8"
