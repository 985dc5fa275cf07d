"""Small config.json files with the public figures of published models, written for these tests."""

from __future__ import annotations

from typing import Any

from dsv4_doctor.arch import Arch
from dsv4_doctor.knowledge import launch as knowledge
from dsv4_doctor.launch.fields import Fields
from dsv4_doctor.launch.machine import Machine
from dsv4_doctor.launch.source import Source

GIB = 1 << 30

LLAMA_8B: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "torch_dtype": "bfloat16",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "tie_word_embeddings": False,
}
LLAMA_70B = {
    **LLAMA_8B,
    "hidden_size": 8192,
    "intermediate_size": 28672,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
}
QWEN_235B: dict[str, Any] = {
    "architectures": ["Qwen3MoeForCausalLM"],
    "torch_dtype": "bfloat16",
    "hidden_size": 4096,
    "intermediate_size": 12288,
    "moe_intermediate_size": 1536,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "num_hidden_layers": 94,
    "num_attention_heads": 64,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "vocab_size": 151936,
    "max_position_embeddings": 40960,
    "quantization_config": {"quant_method": "fp8"},
}
MIXTRAL: dict[str, Any] = {
    "architectures": ["MixtralForCausalLM"],
    "torch_dtype": "bfloat16",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 32000,
    "max_position_embeddings": 32768,
    "sliding_window": None,
}
DEEPSEEK_V3: dict[str, Any] = {
    "architectures": ["DeepseekV3ForCausalLM"],
    "torch_dtype": "bfloat16",
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "moe_intermediate_size": 2048,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "first_k_dense_replace": 3,
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "vocab_size": 129280,
    "max_position_embeddings": 163840,
    "num_nextn_predict_layers": 1,
    "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
}
DEEPSEEK_V2_LITE: dict[str, Any] = {
    **DEEPSEEK_V3,
    "architectures": ["DeepseekV2ForCausalLM"],
    "hidden_size": 2048,
    "intermediate_size": 10944,
    "moe_intermediate_size": 1408,
    "n_routed_experts": 64,
    "n_shared_experts": 2,
    "num_experts_per_tok": 6,
    "first_k_dense_replace": 1,
    "num_hidden_layers": 27,
    "num_attention_heads": 16,
    "q_lora_rank": None,
    "vocab_size": 102400,
    "num_nextn_predict_layers": 0,
    "quantization_config": None,
}
GPT_OSS: dict[str, Any] = {
    "architectures": ["GptOssForCausalLM"],
    "hidden_size": 2880,
    "intermediate_size": 2880,
    "num_local_experts": 128,
    "num_experts_per_tok": 4,
    "num_hidden_layers": 36,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "vocab_size": 201088,
    "max_position_embeddings": 131072,
    "sliding_window": 128,
    "layer_types": ["sliding_attention", "full_attention"] * 18,
    "quantization_config": {"quant_method": "mxfp4"},
}


def network(name: str, **changes: Any) -> dict[str, Any]:
    """Return the published structure of a DeepSeek-V4, with changes."""
    found = knowledge.published(name)
    assert found is not None
    return {**found, **changes}


FLASH = network("flash", num_nextn_predict_layers=1)
PRO = network("pro", num_nextn_predict_layers=1)
ALL = {
    "llama-8b": LLAMA_8B,
    "llama-70b": LLAMA_70B,
    "qwen-235b": QWEN_235B,
    "mixtral": MIXTRAL,
    "deepseek-v3": DEEPSEEK_V3,
    "deepseek-v2-lite": DEEPSEEK_V2_LITE,
    "gpt-oss": GPT_OSS,
    "flash": FLASH,
    "pro": PRO,
}


def source(config: dict[str, Any], name: str = "org/model", size: int | None = None) -> Source:
    """Return a model as if its config.json had been found."""
    return Source(name, Fields(config, f"{name}/config.json"), f"{name}/config.json", size)


def machine(
    gib: float = 140.4, count: int = 8, arch: str = "sm_90", *, linked: bool | None = True
) -> Machine:
    """Return a machine."""
    return Machine("a GPU", Arch.parse(arch), int(gib * GIB), count, linked)
