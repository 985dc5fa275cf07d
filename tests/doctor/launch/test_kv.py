"""The KV cache: what vLLM's own functions gave, and what must always hold."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.launch import configs
from tests.doctor.launch.configs import GIB

from dsv4_doctor.knowledge import launch as knowledge
from dsv4_doctor.launch.fields import Fields
from dsv4_doctor.launch.kv import layout
from dsv4_doctor.launch.kv_layout import Group, Layout
from dsv4_doctor.launch.read_shape import shape

# Release, model, draft layers, MXFP4 index, length, batch; then groups, bytes of a block and bytes
# that the request needs: by running get_kv_cache_groups, _pool_bytes_per_block and
# _max_memory_usage_bytes_from_groups of each release's own source on the specs of its layers.
MEASURED = json.loads(Path(__file__).with_name("kv_of_vllm.json").read_text(encoding="utf-8"))
RELEASES = ("0.11.0", "0.20.0", "0.24.0", "0.26.0", "0.27.0", "0.29.0", "0.33.0")


def cache(name: str, release: str, **options: object) -> Layout:
    built = shape(Fields(configs.ALL[name], name))
    choices: dict[str, object] = {"tensor": 1, "dtype": "fp8", **options}
    return layout(built, knowledge.accounting(release), **choices)  # type: ignore[arg-type]


@pytest.mark.parametrize("case", MEASURED, ids=lambda case: "-".join(map(str, case[:6])))
def test_deepseek_v4_counts_as_in_vllm_itself(case: list[Any]) -> None:
    release, name, layers, fp4, length, batched, *expected = case
    built = replace(shape(Fields(configs.ALL[name], name)), draft_layers=layers)
    accounting = knowledge.accounting(release)
    found = layout(built, accounting, tensor=1, dtype="fp8", draft=bool(layers), fp4_index=fp4)
    groups = sum(each.count for each in found.groups)
    assert [groups, found.block_bytes, found.needed(length, batched)] == expected


def test_more_gpus_than_heads_of_keys_keep_copies() -> None:
    sizes = [cache("qwen-235b", "0.24.0", tensor=each).block_bytes for each in (1, 2, 4, 8)]
    assert sizes == [sizes[0], sizes[0] // 2, sizes[0] // 4, sizes[0] // 4]


@pytest.mark.parametrize("name", ["flash", "pro", "deepseek-v3"])
def test_one_vector_for_all_heads_is_never_split(name: str) -> None:
    assert cache(name, "0.33.0", tensor=1) == cache(name, "0.33.0", tensor=8)


def test_fp8_halves_what_the_model_keeps() -> None:
    both = [cache("llama-8b", "0.24.0", dtype=each).block_bytes for each in ("auto", "fp8")]
    assert both[0] == 2 * both[1] == 16 * 131072


def test_layers_with_a_window_cost_long_requests_nothing_more() -> None:
    found = cache("gpt-oss", "0.24.0", dtype="auto")
    assert found.groups == (Group(16, None, 1), Group(16, 128, 1))
    assert found.blocks(100_000, 2048) - found.blocks(50_000, 2048) == 50_000 // 16


def test_a_draft_adds_layers() -> None:
    assert cache("flash", "0.20.0", draft=True).block_bytes >= cache("flash", "0.20.0").block_bytes


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", sorted(configs.ALL))
@given(
    memory=st.integers(min_value=0, max_value=300 * GIB),
    batched=st.sampled_from([512, 2048, 8192, 16384]),
)
def test_the_longest_request_is_the_longest(
    name: str, release: str, memory: int, batched: int
) -> None:
    found, limit = cache(name, release), 1 << 20
    longest = found.longest(memory, batched, limit)
    assert 0 <= longest <= limit
    if longest:
        assert found.needed(longest, batched) <= memory
    if longest < limit:
        assert found.needed(longest + 1, batched) > memory


@given(
    window=st.none() | st.integers(min_value=1, max_value=4096),
    block=st.sampled_from([4, 8, 16, 64, 256]),
    length=st.integers(min_value=1, max_value=1 << 20),
    tokens=st.integers(min_value=1, max_value=1 << 15),
)
def test_a_longer_request_never_takes_fewer_blocks(
    window: int | None, block: int, length: int, tokens: int
) -> None:
    group = Group(block, window)
    assert group.blocks(length, tokens) <= group.blocks(length + 1, tokens)
    assert group.blocks(length, tokens) <= group.blocks(length, tokens + 1)
    assert group.blocks(length, tokens) <= -(-length // block) + 1


@given(st.integers(min_value=1, max_value=1 << 20), st.integers(min_value=0, max_value=1 << 38))
def test_sequences_that_generate_fit_into_the_pool(length: int, memory: int) -> None:
    found = cache("flash", "0.33.0")
    held = found.sequences(memory, length)
    assert held * found.decoding(length) * found.block_bytes <= memory
    assert replace(found, in_flight=1).decoding(length) == found.decoding(length)
