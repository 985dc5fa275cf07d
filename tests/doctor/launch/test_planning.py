"""Plans: what is chosen, that every flag exists, and what is said where nothing fits."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.version import Version
from tests.doctor.launch import configs
from tests.doctor.launch.configs import FLASH, GIB, PRO, machine, source

from dsv4_doctor.errors import InputError, UsageError
from dsv4_doctor.knowledge import launch as knowledge
from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.flags import flags_of
from dsv4_doctor.knowledge.models import family
from dsv4_doctor.launch.machine import Machine, named
from dsv4_doctor.launch.plan import Plan
from dsv4_doctor.launch.planning import plan
from dsv4_doctor.launch.serving import serving
from dsv4_doctor.launch.source import find as find_source

ARCHS = (("sm_90", 140.4), ("sm_100", 178.4), ("sm_120", 95.6), ("sm_103", 268.0))
GOALS = ("throughput", "latency", "context")
RELEASES = [
    each for each in load.release_names() if Version(each) >= Version(knowledge.first_release())
]
GPUS = ("H200", "H100 80GB HBM3", "B200", "GB200", "B300", "RTX PRO 6000", "A100-SXM4-80GB", "L40S")
FLAGS = cache(flags_of)
NOWHERE = {"HF_HOME": "/nowhere"}


def made(
    config: dict[str, Any],
    on: Machine | None = None,
    release: str = "0.33.0",
    goal: Any = "throughput",
    length: int | None = None,
) -> Plan:
    return plan(source(config), on or machine(), serving(release), goal, length)


def published(name: str, on: Machine, release: str = "0.33.0", goal: Any = "throughput") -> Plan:
    return plan(find_source(name, NOWHERE), on, serving(release), goal)


def value(found: Plan, flag: str) -> str | None:
    return next((each.value for each in found.parameters if each.flag == flag), None)


def has(found: Plan, flag: str) -> bool:
    return any(each.flag == flag for each in found.parameters)


def require_known(found: Plan) -> None:
    """Every word of the command is a flag of the release that works, with a value that it takes."""
    flags = FLAGS(found.release)
    for each in found.parameters:
        assert each.flag in flags, f"{found.release} has no {each.flag}"
        known = flags[each.flag]
        assert known.status != "ignored"
        assert each.reason
        assert each.source
        assert "{" not in each.reason
        if not each.value:
            assert known.type in {"bool", "switch"}
        elif known.choices and not known.open:
            assert each.value in known.choices
        elif known.type == "int":
            assert int(each.value) > 0
        elif "json" in known.type:
            assert isinstance(json.loads(each.value), dict)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("goal", GOALS)
def test_every_flag_exists_in_every_release_that_serves_the_model(release: str, goal: str) -> None:
    served = serving(release).release.has(family().feature)
    for config in configs.ALL.values():
        arch, gib = ARCHS[(RELEASES.index(release) + GOALS.index(goal)) % len(ARCHS)]
        found = made(config, machine(gib, 8, arch), release, goal)
        if found.model.attention == "deepseek_v4" and not served:
            assert not found.fits
            continue
        require_known(found)
        assert found.fits or found.obstacles


@pytest.mark.parametrize("name", [each.name for each in family().checkpoints if each.draft])
@pytest.mark.parametrize("gpu", GPUS)
def test_published_checkpoints(name: str, gpu: str) -> None:
    known = find_source(name, NOWHERE).published
    assert known is not None
    if known.architecture != "DeepseekV4ForCausalLM":
        return
    for release, goal in zip(
        ("0.19.1", "0.20.0", "0.25.0", "0.33.0"), (*GOALS, "latency"), strict=True
    ):
        found = published(name, named(gpu, 8), release, goal)
        require_known(found)
        if not known.vllm.contains(release) or gpu in {"A100-SXM4-80GB", "L40S"}:
            assert not found.fits


@settings(max_examples=100, deadline=None)
@given(
    name=st.sampled_from(sorted(configs.ALL)),
    gib=st.floats(min_value=1, max_value=400),
    count=st.integers(min_value=1, max_value=16),
    arch=st.sampled_from(["sm_75", "sm_80", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120"]),
    linked=st.sampled_from([True, False, None]),
    goal=st.sampled_from(GOALS),
    release=st.sampled_from(RELEASES),
)
def test_a_plan_keeps_its_word(
    name: str, gib: float, count: int, arch: str, linked: bool | None, goal: str, release: str
) -> None:
    here = machine(gib, count, arch, linked=linked)
    found = made(configs.ALL[name], here, release, goal)
    json.dumps(found.to_json(), allow_nan=False)
    if not found.fits:
        assert found.obstacles
        assert found.argv == ()
        return
    require_known(found)
    memory = found.memory
    assert memory is not None
    parts = (memory.weights, memory.context, memory.activation, memory.cuda_graphs, memory.kv_cache)
    assert abs(memory.total - memory.headroom - sum(parts)) < 16
    assert min(parts) >= 0
    assert memory.kv_per_request <= memory.kv_cache
    tensor = int(value(found, "--tensor-parallel-size") or 1)
    data = int(value(found, "--data-parallel-size") or 1)
    assert tensor * data == found.gpus.used <= count
    assert configs.ALL[name]["num_attention_heads"] % tensor == 0
    assert configs.ALL[name].get("o_groups", tensor) % tensor == 0
    given_length = int(value(found, "--max-model-len") or found.model.context)
    assert given_length <= found.longest <= found.model.context
    assert [each.sequences for each in found.sequences] == sorted(
        (each.sequences for each in found.sequences), reverse=True
    )


HUGE: st.SearchStrategy[Any] = st.one_of(
    st.integers(min_value=-2, max_value=1 << 40), st.sampled_from([None, True, "1", 1.5, [], {}])
)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(sorted(configs.ALL)), st.sampled_from(GOALS), st.data())
def test_a_hostile_config_is_planned_or_refused(name: str, goal: str, data: st.DataObject) -> None:
    config = dict(configs.ALL[name])
    numbers = sorted(key for key, each in config.items() if isinstance(each, int))
    for key in data.draw(st.sets(st.sampled_from(numbers), min_size=1, max_size=5)):
        config[key] = data.draw(HUGE)
    found = None
    with suppress(InputError):
        found = made(config, goal=goal)
    if found is not None:
        json.dumps(found.to_json(), allow_nan=False)
        require_known(found)
        assert found.fits or found.obstacles


@pytest.mark.parametrize(
    ("gpu", "capability"), [("A100-SXM4-80GB", "8.0"), ("A100-SXM4-40GB", "8.0"), ("L40S", "8.9")]
)
def test_the_honest_no(gpu: str, capability: str) -> None:
    found = published("DeepSeek-V4-Flash", named(gpu, 8))
    assert not found.fits
    [said] = found.obstacles
    assert f"compute capability 9.x, 10.x, 12.x only, and this is {capability}" in said
    assert "vllm/models/deepseek_v4/sparse_mla.py:96" in said
    assert any("H200" in each or "B200" in each for each in found.machines)


def test_before_0_24_there_is_no_attention_for_sm_120() -> None:
    before = published("DeepSeek-V4-Flash", named("RTX PRO 6000", 8), "0.23.0")
    assert "9.x, 10.x only, and this is 12.0" in before.obstacles[0]
    assert published("DeepSeek-V4-Flash", named("RTX PRO 6000", 8), "0.24.0").fits


def test_a_release_without_the_model_names_the_first_with_it() -> None:
    found = published("DeepSeek-V4-Flash", named("H200", 8), "0.19.1")
    assert "the first release with it is 0.20.0" in found.obstacles[0]
    newer = published("DeepSeek-V4-Flash-0731", named("H200", 8), "0.24.0")
    assert "needs vLLM >=0.25.0, not 0.24.0" in newer.obstacles[0]
    assert newer.machines == ()
    block = configs.network("flash", dspark_markov_rank=64)
    alike = made(block, release="0.24.0")
    assert alike.obstacles == newer.obstacles
    assert made(block, release="0.25.0").fits


def test_nvfp4_needs_blackwell() -> None:
    found = published("nvidia/DeepSeek-V4-Flash-NVFP4", named("H200", 8))
    assert "take the FP4 and FP8 checkpoint" in found.obstacles[0]
    assert published("nvidia/DeepSeek-V4-Flash-NVFP4", named("B200", 4)).fits


def test_a_model_that_fits_nowhere_names_what_would_do() -> None:
    found = published("DeepSeek-V4-Pro", named("GB200", 4))
    assert "GiB of weights a GPU leave no room" in found.obstacles[0]
    assert any(each.startswith("8 x GB200") for each in found.machines)
    huge = made({**configs.LLAMA_70B, "num_hidden_layers": 1000, "hidden_size": 1 << 16})
    assert not huge.fits
    assert huge.machines == ()
    assert "no 16 GPUs of a kind that is known" in huge.obstacles[1]


def test_the_smallest_machines_really_do() -> None:
    found = published("DeepSeek-V4-Flash", named("A100-SXM4-80GB", 8))
    for each in found.machines:
        count, _, rest = each.partition(" x ")
        name, _, tokens = rest.partition(": up to ")
        longest = int(tokens.partition(" ")[0].replace(",", ""))
        there = published("DeepSeek-V4-Flash", named(name, int(count)))
        assert there.fits
        # NVLink decides nothing about memory, but about which split is chosen.
        assert there.longest > 0
        assert longest > 0


def test_one_vector_for_all_heads_is_served_by_copies() -> None:
    found = made(configs.DEEPSEEK_V3)
    assert value(found, "--data-parallel-size") == "8"
    assert has(found, "--enable-expert-parallel")


@pytest.mark.parametrize(
    ("config", "gib", "tensor", "data"),
    [(configs.LLAMA_8B, 80, None, "8"), (configs.LLAMA_70B, 80, "4", "2")],
)
def test_a_dense_model_is_split_no_more_than_it_must(
    config: dict[str, Any], gib: int, tensor: str | None, data: str
) -> None:
    found = made(config, machine(gib, 8))
    assert value(found, "--tensor-parallel-size") == tensor
    assert value(found, "--data-parallel-size") == data
    assert not has(found, "--enable-expert-parallel")
    assert value(made(config, machine(gib, 8), goal="latency"), "--tensor-parallel-size") == "8"


def test_without_nvlink_the_experts_stay_in_one_copy() -> None:
    found = made(FLASH, machine(95.6, 8, "sm_120", linked=False))
    assert value(found, "--tensor-parallel-size") == "8"
    assert has(found, "--enable-expert-parallel")
    assert any("no NVLink" in each for each in found.notes)


def test_tensor_parallelism_stays_within_the_output_groups() -> None:
    assert value(made(FLASH, machine(140.4, 16), goal="latency"), "--tensor-parallel-size") == "8"
    assert value(made(PRO, machine(140.4, 16), goal="latency"), "--tensor-parallel-size") == "16"


def test_gpus_that_no_split_takes() -> None:
    found = made(configs.LLAMA_8B, machine(24, 3))
    assert found.gpus.used in {1, 3}
    seven = made(configs.FLASH, machine(140.4, 7))
    assert seven.gpus.used == 4
    assert any("3 of 7 GPUs stay unused" in each for each in seven.notes)


def test_the_index_by_the_flag_that_works_in_the_release() -> None:
    new, old = "--attention-config.indexer_kv_dtype", "--attention-config.use_fp4_indexer_cache"
    on = machine(178.4, 8, "sm_100")
    for release in ("0.20.0", "0.24.0", "0.27.1"):
        found = made(FLASH, on, release)
        assert value(found, old) == "True"
        assert not has(found, new)
    for release in ("0.30.0", "0.33.0"):
        assert value(made(FLASH, on, release), new) == "mxfp4"
    assert not has(made(FLASH, machine(), "0.33.0"), new)
    assert not has(made(FLASH, machine(95.6, 8, "sm_120"), "0.33.0"), new)


def test_the_experts_kernel_is_for_spread_fp4_experts_on_blackwell() -> None:
    on = machine(178.4, 8, "sm_100")
    assert value(made(FLASH, on), "--moe-backend") == "deep_gemm_mega_moe"
    assert not has(made(FLASH, on, goal="latency"), "--moe-backend")
    assert not has(made(FLASH), "--moe-backend")
    base = configs.network("flash", expert_dtype="fp8")
    plain = made(base, on)
    assert not has(plain, "--moe-backend")
    assert any("these are fp8" in each.reason for each in plain.left_out)


@pytest.mark.parametrize(
    ("name", "gpu", "method", "tokens"),
    [
        ("DeepSeek-V4-Flash", "H200", "mtp", 1),
        ("DeepSeek-V4-Flash", "B200", "mtp", 2),
        ("DeepSeek-V4-Flash-0731", "H200", "dspark", 7),
        ("DeepSeek-V4-Pro-0813", "B200", "dspark", 7),
    ],
)
def test_the_draft_that_the_checkpoint_has(name: str, gpu: str, method: str, tokens: int) -> None:
    found = value(published(name, named(gpu, 8), goal="latency"), "--speculative-config")
    assert found is not None
    assert json.loads(found)["method"] == method
    assert json.loads(found)["num_speculative_tokens"] == tokens
    assert not has(published(name, named(gpu, 8)), "--speculative-config")


def test_no_draft_where_none_is_verified() -> None:
    found = published("DeepSeek-V4-Flash-0731", named("RTX PRO 6000", 8), goal="latency")
    assert not has(found, "--speculative-config")
    assert any("12.x" in each.reason for each in found.left_out if "specul" in each.flag)


def test_a_length_that_is_asked_for() -> None:
    assert value(made(FLASH, length=65536), "--max-model-len") == "65536"
    for length in (0, -1, 2_000_000):
        with pytest.raises(UsageError, match="the model's own limit is 1048576 tokens"):
            made(FLASH, length=length)


def test_a_release_that_counted_otherwise() -> None:
    with pytest.raises(UsageError, match=r"vLLM 0.7.2 cannot be planned for") as caught:
        made(configs.LLAMA_8B, release="0.7.2")
    assert caught.value.hint == "known from 0.11.0 on"


def test_an_unknown_quantization_needs_the_checkpoint() -> None:
    config = {**configs.LLAMA_8B, "quantization_config": {"quant_method": "magic"}}
    assert "no checkpoint lies beside" in made(config).obstacles[0]
    found = plan(source(config, size=5 * GIB), machine(), serving("0.33.0"), "throughput")
    assert found.fits
    assert found.model.weights == 5 * GIB


def test_a_checkpoint_that_is_not_what_its_structure_says() -> None:
    found = plan(
        source(configs.LLAMA_8B, size=30 * GIB), machine(), serving("0.33.0"), "throughput"
    )
    assert any("2.01 times as large" in each for each in found.notes)
    assert found.model.measured


def test_several_hosts_are_said_to_be_several() -> None:
    found = published("DeepSeek-V4-Pro", named("GB200", 8))
    assert any("are several hosts" in each for each in found.notes)
    assert not any("several hosts" in each for each in made(FLASH).notes)


def test_a_gpu_that_is_older_than_the_build() -> None:
    found = made(configs.LLAMA_8B, machine(16, 1, "sm_60"))
    assert "is built for sm_7" in found.obstacles[0]


@pytest.mark.parametrize("release", ["0.11.0", "0.24.0", "0.33.0"])
def test_every_recommendation_has_its_place(release: str) -> None:
    found = made(configs.LLAMA_8B, release=release)
    flags = FLAGS(release)
    assert [each.id for each in found.advice] == [each.id for each in knowledge.advice()]
    for each in found.advice:
        assert each.verdict in {"given", "default", "choice", "none"}
        assert each.source
        assert "{" not in each.text.replace(
            '{"enable_multithread_load": true, "num_threads": 8}', ""
        )
        if each.flag:
            assert each.flag in flags
        if each.verdict == "given":
            assert has(found, each.flag)
        if each.verdict in {"default", "choice"}:
            assert each.flag


def test_loading_workers_are_accepted_and_ignored_in_every_release() -> None:
    [each] = [one for one in made(FLASH).advice if one.id == "parallel-loading"]
    assert each.verdict == "none"
    for release in RELEASES:
        assert "--max-parallel-loading-workers" in FLAGS(release)
