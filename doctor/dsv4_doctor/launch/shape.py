"""The structure of a model: what its config.json says, in the terms that memory and splits need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from dsv4_doctor.launch.precision import Precision

Attention = Literal["gqa", "mla", "deepseek_v4"]


@dataclass(frozen=True)
class Latent:
    """Multi-head latent attention, as in DeepSeek-V2 and V3.

    Attributes:
        kv_rank: Width of the latent vector that is cached.
        rope: Width of the part with positions, cached beside it.
        nope: Width a head without positions.
        value: Width of a value a head.
        q_rank: Width of the compressed query, 0 when it is not compressed.
    """

    kv_rank: int
    rope: int
    nope: int
    value: int
    q_rank: int


@dataclass(frozen=True)
class Compressed:
    """DeepSeek-V4's attention.

    Attributes:
        ratios: By layer, how many tokens one cached state stands for; 0 or 1 is a layer that has
            the sliding window alone.
        q_rank: Width of the compressed query.
        o_groups: Groups of the output projection.
        o_rank: Width of each.
        index_heads: Heads of the indexer, which layers with ratio 4 have.
        index_dim: Width of each.
        streams: Residual streams of the hyper-connections.
    """

    ratios: tuple[int, ...]
    q_rank: int
    o_groups: int
    o_rank: int
    index_heads: int
    index_dim: int
    streams: int


@dataclass(frozen=True)
class Experts:
    """The mixture of experts.

    Attributes:
        count: Routed experts a layer.
        active: How many of them one token uses.
        width: Intermediate width of one.
        shared: Intermediate width of the shared experts together, 0 for none.
        layers: How many layers have experts.
    """

    count: int
    active: int
    width: int
    shared: int
    layers: int


@dataclass(frozen=True)
class Shape:
    """One model.

    Attributes:
        architecture: As in config.json.
        attention: Which of the three kinds of attention that this tool can count.
        kv_heads: Heads of keys and values; 1 where one latent vector serves all.
        width: Intermediate width of the dense layers' feed-forward network.
        context: Longest sequence in tokens.
        window: Sliding window in tokens, ``None`` for none.
        window_layers: How many layers see only the window.
        tied: Whether the output head is the embedding.
        draft: What proposes tokens ahead: ``mtp``, ``dspark`` or empty.
        draft_layers: Its layers, which are kept in the checkpoint and loaded only with it.
    """

    architecture: str
    attention: Attention
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    width: int
    vocabulary: int
    context: int
    precision: Precision
    window: int | None = None
    window_layers: int = 0
    tied: bool = False
    latent: Latent | None = None
    compressed: Compressed | None = None
    experts: Experts | None = None
    draft: str = ""
    draft_layers: int = 0

    @property
    def single_kv(self) -> bool:
        """Whether all heads share one cached vector, which tensor parallelism cannot split."""
        return self.attention != "gqa"
