"""Reading a config.json, whatever it holds."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.launch import configs

from dsv4_doctor.errors import InputError
from dsv4_doctor.knowledge import launch as knowledge
from dsv4_doctor.launch.fields import LIMITS, Fields
from dsv4_doctor.launch.read_shape import shape
from dsv4_doctor.launch.shape import Shape
from dsv4_doctor.launch.weights import weights


def read(config: dict[str, Any]) -> Shape:
    return shape(Fields(config, "config.json"))


def test_the_structure_of_flash() -> None:
    found = read(configs.FLASH)
    assert found.compressed is not None
    assert [found.compressed.ratios.count(each) for each in (0, 4, 128)] == [2, 21, 20]
    assert (found.draft, found.draft_layers, found.kv_heads) == ("mtp", 1, 1)
    assert found.precision.name == "fp4 experts, fp8 rest"


def test_layer_types_say_the_same_as_ratios() -> None:
    names = {0: "sliding_attention", 4: "compressed_sparse_attention"}
    types = [
        names.get(each, "heavily_compressed_attention") for each in configs.FLASH["compress_ratios"]
    ]
    later = {key: value for key, value in configs.FLASH.items() if key != "compress_ratios"}
    later |= {"layer_types": types, "compress_rates": {"compressed_sparse_attention": 4}}
    assert read(later) == read(configs.FLASH)


def test_ratios_of_draft_layers_are_left_out() -> None:
    more = {**configs.FLASH, "compress_ratios": [*configs.FLASH["compress_ratios"], 0]}
    assert read(more) == read(configs.FLASH)


def test_a_dspark_block_is_a_draft_of_its_own() -> None:
    found = read(configs.network("flash", dspark_markov_rank=64, n_mtp_layers=2))
    assert (found.draft, found.draft_layers) == ("dspark", 2)


def test_a_mixture_whose_experts_are_all_there_is() -> None:
    found = read(configs.MIXTRAL).experts
    assert found is not None
    assert (found.count, found.width, found.shared, found.layers) == (8, 14336, 0, 32)
    assert weights(read(configs.MIXTRAL)).total / 2 == pytest.approx(46.7e9, rel=0.01)


def test_dense_layers_before_the_experts() -> None:
    found = read(configs.DEEPSEEK_V3).experts
    assert found is not None
    assert found.layers == 58


@pytest.mark.parametrize(
    ("quantization", "name", "gigabytes"),
    [
        (None, "bfloat16", 16.06),
        ({"quant_method": "awq", "bits": 4}, "awq 4 bits", 5.7),
        ({"quant_method": "gptq", "bits": 8}, "gptq 8 bits", 9.2),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4 experts", 6.0),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, "fp8", 9.1),
        (
            {"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized"},
            "nvfp4 experts",
            9.1,
        ),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"group_0": {"weights": {"num_bits": 8}}},
            },
            "compressed-tensors 8 bits",
            9.2,
        ),
    ],
)
def test_quantized_weights(
    quantization: dict[str, Any] | None, name: str, gigabytes: float
) -> None:
    found = read({**configs.LLAMA_8B, "quantization_config": quantization})
    assert found.precision.name == name
    assert weights(found).total / 1e9 == pytest.approx(gigabytes, rel=0.03)


def test_a_quantization_that_nobody_knows() -> None:
    found = read({**configs.LLAMA_8B, "quantization_config": {"quant_method": "magic"}})
    assert (found.precision.name, found.precision.known) == ("magic", False)


@pytest.mark.parametrize("name", ["NoSuchForCausalLM", "BertModel"])
def test_an_architecture_that_nobody_entered_is_said_to_be_unknown(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} cannot be planned: this tool does not") as caught:
        read({**configs.LLAMA_8B, "architectures": [name]})
    assert "LlamaForCausalLM" in caught.value.hint


@pytest.mark.parametrize(
    "name", [each.name for each in knowledge.architectures().values() if not each.attention]
)
def test_an_architecture_that_is_not_counted_says_why(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} cannot be planned: its ") as caught:
        read({**configs.FLASH, "architectures": [name]})
    assert "start commands" in caught.value.hint


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({}, "names no architectures"),
        ({"architectures": "LlamaForCausalLM"}, "names no architectures"),
        ({"architectures": [1]}, "names no architectures"),
        ({"architectures": ["LlamaForCausalLM"] * 2}, "names 2 architectures"),
        ({"architectures": ["LlamaForCausalLM"]}, "has no num_hidden_layers"),
        ({**configs.LLAMA_8B, "hidden_size": "4096"}, "hidden_size is '4096', not a whole number"),
        ({**configs.LLAMA_8B, "hidden_size": True}, "hidden_size is True, not a whole number"),
        ({**configs.LLAMA_8B, "hidden_size": 4096.0}, "not a whole number"),
        ({**configs.LLAMA_8B, "num_attention_heads": 0}, "is 0, not between 1 and"),
        ({**configs.LLAMA_8B, "num_hidden_layers": -1}, "is -1, not between 1 and"),
        ({**configs.LLAMA_8B, "vocab_size": 10**5000}, "vocab_size is a huge int"),
        ({**configs.LLAMA_8B, "torch_dtype": "complex64"}, "torch_dtype 'complex64' is none of"),
        ({**configs.FLASH, "compress_ratios": [0, 4]}, "does not give each of 43 layers"),
        ({**configs.FLASH, "compress_ratios": [7] * 43}, "does not give each of 43 layers"),
        ({**configs.FLASH, "compress_ratios": [4] * 43}, "has not both kinds"),
        ({**configs.FLASH, "compress_ratios": [[4]] * 43}, "does not give each of 43 layers"),
    ],
)
def test_what_makes_no_sense_is_said(config: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read(config)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.sampled_from(sorted(configs.ALL)), st.data())
def test_a_hostile_config_is_read_or_refused(name: str, data: st.DataObject) -> None:
    config = dict(configs.ALL[name])
    for key in data.draw(st.sets(st.sampled_from(sorted(config)), max_size=4)):
        config[key] = data.draw(VALUES)
    found = None
    with suppress(InputError):
        found = read(config)
    if found is None:
        with pytest.raises(InputError, match=r"^config.json"):
            read(config)
        return
    assert 1 <= found.layers <= LIMITS["layers"]
    size = weights(found)
    assert 0 < size.total < float("inf")
    assert json.dumps(found.precision.name)


@given(st.dictionaries(st.text(max_size=12), VALUES, max_size=8))
def test_any_object_is_read_or_refused(config: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        read(config)
