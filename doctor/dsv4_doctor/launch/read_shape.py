"""From the keys of a config.json to the structure of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.errors import InputError
from dsv4_doctor.knowledge import launch as knowledge
from dsv4_doctor.launch.fields import LIMITS, Fields
from dsv4_doctor.launch.precision import precision
from dsv4_doctor.launch.shape import Compressed, Experts, Latent, Shape

if TYPE_CHECKING:
    from dsv4_doctor.launch.shape import Attention

_RATES = {"compressed_sparse_attention": 4, "heavily_compressed_attention": 128}
_RATIOS = frozenset({0, 1, 4, 128})
# DSpark's draft has three layers where the file does not say how many.
_DSPARK_LAYERS = 3


def shape(config: Fields) -> Shape:
    """Return the structure that a config.json describes.

    Raises:
        InputError: It is no config.json of a model, one of a kind that cannot be counted, or its
            values make no sense.
    """
    architecture = _architecture(config)
    known = knowledge.architecture(architecture)
    if known.attention == "":
        msg = f"{config.name}: {architecture} cannot be planned: {known.why}"
        raise InputError(msg, hint=known.instead)
    text = config.table("text_config")
    body = Fields({**config.data, **text.data}, config.name) if text.data else config
    if known.attention == "mla":
        return _mla(body, architecture)
    if known.attention == "deepseek_v4":
        return _deepseek_v4(body, architecture)
    return _gqa(body, architecture)


def _architecture(config: Fields) -> str:
    names = [each for each in config.items("architectures") if isinstance(each, str)]
    if not names:
        msg = f"{config.name}: not the config.json of a model: it names no architectures"
        raise InputError(msg, hint="give the config.json that lies beside the weights")
    if len(names) != 1:
        msg = f"{config.name}: names {len(names)} architectures, so it is not clear which is meant"
        raise InputError(msg)
    return names[0]


def _gqa(config: Fields, architecture: str) -> Shape:
    layers = config.number("num_hidden_layers", "layers")
    heads = config.number("num_attention_heads", "heads")
    hidden = config.number("hidden_size", "width")
    window, window_layers = _window(config, layers)
    return _shape(
        config,
        architecture,
        "gqa",
        heads=heads,
        kv_heads=config.number("num_key_value_heads", "heads", default=heads),
        head_dim=config.number("head_dim", "width", default=max(hidden // heads, 1)),
        window=window,
        window_layers=window_layers,
    )


def _window(config: Fields, layers: int) -> tuple[int | None, int]:
    """The sliding window, and how many layers have it."""
    if config.data.get("sliding_window") is None or not config.flag(
        "use_sliding_window", default=True
    ):
        return None, 0
    window = config.number("sliding_window", "context")
    types = config.items("layer_types")
    if types:
        sliding = sum(each == "sliding_attention" for each in types[:layers])
        return (window, sliding) if sliding else (None, 0)
    return window, layers


def _mla(config: Fields, architecture: str) -> Shape:
    latent = Latent(
        kv_rank=config.number("kv_lora_rank", "width"),
        rope=config.number("qk_rope_head_dim", "width"),
        nope=config.number("qk_nope_head_dim", "width"),
        value=config.number("v_head_dim", "width"),
        q_rank=config.number("q_lora_rank", "width", default=0),
    )
    return _shape(
        config,
        architecture,
        "mla",
        heads=config.number("num_attention_heads", "heads"),
        kv_heads=1,
        head_dim=latent.kv_rank + latent.rope,
        latent=latent,
    )


def _deepseek_v4(config: Fields, architecture: str) -> Shape:
    layers = config.number("num_hidden_layers", "layers")
    compressed = Compressed(
        ratios=_ratios(config, layers),
        q_rank=config.number("q_lora_rank", "width"),
        o_groups=config.number("o_groups", "heads"),
        o_rank=config.number("o_lora_rank", "width"),
        index_heads=config.number("index_n_heads", "heads"),
        index_dim=config.number("index_head_dim", "width"),
        streams=config.number("hc_mult", "heads"),
    )
    return _shape(
        config,
        architecture,
        "deepseek_v4",
        heads=config.number("num_attention_heads", "heads"),
        kv_heads=1,
        head_dim=config.number("head_dim", "width"),
        window=config.number("sliding_window", "context"),
        window_layers=layers,
        compressed=compressed,
    )


def _ratios(config: Fields, layers: int) -> tuple[int, ...]:
    """By layer; later files give a type for each layer and the rate of each type."""
    found = config.items("compress_ratios")
    if not found:
        rates = {**_RATES, **config.table("compress_rates").data}
        found = tuple(
            rates.get(each, 0) for each in config.items("layer_types") if isinstance(each, str)
        )
    # Layers of a draft may follow.
    found = found[:layers]
    if len(found) < layers or not all(map(_is_ratio, found)):
        msg = f"{config.name}: does not give each of {layers} layers a ratio of 0, 4 or 128"
        raise InputError(msg)
    if not {4, 128} <= set(found):
        msg = f"{config.name}: has not both kinds of compressed layers, as every DeepSeek-V4 has"
        raise InputError(msg)
    return found


def _is_ratio(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value in _RATIOS


def _shape(  # noqa: PLR0913 - the parts that the three kinds read differently
    config: Fields,
    architecture: str,
    attention: Attention,
    *,
    heads: int,
    kv_heads: int,
    head_dim: int,
    window: int | None = None,
    window_layers: int = 0,
    latent: Latent | None = None,
    compressed: Compressed | None = None,
) -> Shape:
    layers = config.number("num_hidden_layers", "layers")
    experts = _experts(config, layers)
    draft, draft_layers = _draft(config)
    expert_width = experts.width if experts else None
    return Shape(
        architecture=architecture,
        attention=attention,
        layers=layers,
        hidden=config.number("hidden_size", "width"),
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        width=config.number("intermediate_size", "width", default=expert_width),
        vocabulary=config.number("vocab_size", "vocabulary"),
        context=config.number("max_position_embeddings", "context"),
        precision=precision(config),
        window=window,
        window_layers=window_layers,
        tied=config.flag("tie_word_embeddings"),
        latent=latent,
        compressed=compressed,
        experts=experts,
        draft=draft,
        draft_layers=draft_layers,
    )


def _experts(config: Fields, layers: int) -> Experts | None:
    keys = ("n_routed_experts", "num_local_experts", "num_experts")
    key = next((each for each in keys if config.data.get(each) is not None), None)
    if key is None:
        return None
    count = config.number(key, "experts", low=0)
    if count == 0:
        return None
    width = config.number("moe_intermediate_size", "width", default=0) or config.number(
        "intermediate_size", "width"
    )
    shared = config.number("shared_expert_intermediate_size", "width", default=0, low=0)
    shared += config.number("n_shared_experts", "experts", default=0, low=0) * width
    dense = config.number("first_k_dense_replace", "layers", default=0, low=0)
    return Experts(
        count=count,
        active=config.number("num_experts_per_tok", "experts", default=1),
        width=width,
        shared=min(shared, LIMITS["width"]),
        layers=max(layers - dense, 0),
    )


def _draft(config: Fields) -> tuple[str, int]:
    if any(key.startswith("dspark_") for key in config.data):
        return "dspark", config.number("n_mtp_layers", "layers", default=_DSPARK_LAYERS)
    layers = config.number("num_nextn_predict_layers", "layers", default=0, low=0)
    return ("mtp", layers) if layers else ("", 0)
