"""Memory against what people publicly reported of real servers."""

from __future__ import annotations

import pytest
from tests.doctor.launch import configs
from tests.doctor.launch.configs import FLASH, GIB, PRO

from dsv4_doctor.knowledge import launch as knowledge
from dsv4_doctor.knowledge.models import checkpoint
from dsv4_doctor.launch.budget import Budget, Setup, budget
from dsv4_doctor.launch.fields import Fields
from dsv4_doctor.launch.kv import layout
from dsv4_doctor.launch.kv_layout import Layout
from dsv4_doctor.launch.machine import named
from dsv4_doctor.launch.read_shape import shape
from dsv4_doctor.launch.shape import Shape
from dsv4_doctor.launch.source import find
from dsv4_doctor.launch.split import Split
from dsv4_doctor.launch.weights import weights


def read(config: dict[str, object]) -> Shape:
    return shape(Fields(config, "config.json"))


def cache(config: dict[str, object], release: str, tensor: int = 1, dtype: str = "fp8") -> Layout:
    return layout(read(config), knowledge.accounting(release), tensor=tensor, dtype=dtype)


@pytest.mark.parametrize(
    ("config", "gib"),
    [
        # vllm-project/vllm#40778 and its recipe: the checkpoint of Flash.
        (FLASH, 148.66),
        # The recipes of vLLM 0.33.0, in 10^9 bytes: Pro, and the two with DSpark's draft.
        (PRO, 865e9 / GIB),
        (configs.network("flash", dspark_markov_rank=1), 167e9 / GIB),
        (configs.network("pro", dspark_markov_rank=1), 893e9 / GIB),
        # vllm-project/vllm#10517: "Loading model weights took 14.9888 GB".
        (configs.LLAMA_8B, 14.9888),
    ],
)
def test_the_size_of_a_checkpoint_from_its_structure(config: dict[str, object], gib: float) -> None:
    assert weights(read(config)).total / GIB == pytest.approx(gib, rel=0.004)


def test_the_size_of_an_nvfp4_checkpoint() -> None:
    # vllm-project/recipes#779: 913.09 GB of nvidia/DeepSeek-V4-Pro-NVFP4.
    found = find("nvidia/DeepSeek-V4-Pro-NVFP4", {})
    assert weights(shape(found.config)).total / 1e9 == pytest.approx(913.09, rel=0.01)


@pytest.mark.parametrize("model", ["DeepSeek-V4-Flash", "DeepSeek-V4-Pro", "DeepSeek-V4-Pro-0813"])
def test_published_sizes_are_those_of_the_structure(model: str) -> None:
    known, found = checkpoint(model), find(model, {"HF_HOME": "/nowhere"})
    assert known.disk_gb is not None
    computed = weights(shape(found.config)).total / 1e9
    assert computed == pytest.approx(known.disk_gb.value, rel=0.01)


@pytest.mark.parametrize(("tensor", "gib"), [(1, 147.9), (2, 75.2), (4, 38.8)])
def test_weights_a_gpu_as_tensor_parallelism_grows(tensor: int, gib: float) -> None:
    # The recipe of Flash-Vision-Exp in vLLM 0.33.0, lines 327 to 340; its vision tower is extra.
    held = weights(read(FLASH)).a_gpu(tensor, 1, expert_parallel=False, draft=False)
    assert held / GIB == pytest.approx(gib, rel=0.05)


def test_a_request_that_did_not_fit_on_two_gh200() -> None:
    # vllm-project/vllm#44376, vLLM 0.22: 30,000 tokens need 6.66 GiB, 5.44 GiB hold 13,528.
    found = cache(FLASH, "0.22.0", tensor=2)
    assert found.needed(30_000, 16_384) / GIB == pytest.approx(6.66, abs=0.005)
    assert found.longest(5.44 * GIB, 16_384, 1 << 20) == pytest.approx(13_528, rel=0.001)


@pytest.mark.parametrize(
    ("split", "times"), [(Split(8, 1, True), 20.43), (Split(1, 8, True), 156.9 / 8)]
)
def test_the_kv_cache_of_eight_b200(split: Split, times: float) -> None:
    # vllm-project/recipes#762, vLLM 0.25.0: maximum concurrency at 1,048,576 tokens.
    flash = configs.network("flash", dspark_markov_rank=1)
    found = _budget(flash, named("B200", 8).memory, split, "0.25.0", utilization=0.95)
    counted = found.layout.concurrency(found.kv, 1 << 20, 8192)
    assert counted == pytest.approx(times, rel=0.05)


def test_the_kv_cache_of_four_h100() -> None:
    # vllm-project/vllm#21348: 8.11 GiB hold 178,880 tokens of Qwen3-235B-A22B-FP8.
    found = cache(configs.QWEN_235B, "0.11.0", tensor=4, dtype="auto")
    assert found.pool(8.11 * GIB) * 16 == pytest.approx(178_880, rel=0.02)


def test_the_kv_cache_of_a_3090() -> None:
    # vllm-project/vllm#10517: 3.81 GiB are 1,952 blocks of Llama-3.1-8B.
    found = cache(configs.LLAMA_8B, "0.11.0", dtype="auto")
    assert found.pool(3.81 * GIB) == pytest.approx(1952, rel=0.005)


def _budget(
    config: dict[str, object], memory: int, split: Split, release: str, utilization: float
) -> Budget:
    built = read(config)
    setup = Setup(split, utilization, 8192, "fp8")
    here = configs.machine(memory / GIB, split.gpus, "sm_100")
    return budget(built, weights(built), here, setup, release)
