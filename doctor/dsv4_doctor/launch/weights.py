"""How many bytes the weights of a model are, and how many of them each GPU holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dsv4_doctor.launch.shape import Shape

_FLOAT = 32


@dataclass(frozen=True)
class Weights:
    """The weights of one checkpoint, in bytes.

    Attributes:
        experts: Routed experts, which expert parallelism spreads.
        split: Other matrices that tensor parallelism splits.
        whole: What every GPU holds whole.
        draft_experts: Routed experts of the draft, which is loaded only with speculation.
        draft: The rest of the draft.
        measured: Whether the checkpoint itself gave the size; else it was computed from the
            structure.
        computed: What the structure alone gives, for comparison.
    """

    experts: float
    split: float
    whole: float
    draft_experts: float = 0.0
    draft: float = 0.0
    measured: bool = False
    computed: float = 0.0

    @property
    def total(self) -> float:
        """All of the checkpoint."""
        return self.experts + self.split + self.whole + self.draft_experts + self.draft

    def a_gpu(self, tensor: int, data: int, *, expert_parallel: bool, draft: bool) -> float:
        """Return the bytes that the fullest GPU holds.

        Args:
            tensor: Tensor-parallel size.
            data: Data-parallel size; each rank holds what is not an expert for itself.
            expert_parallel: Whether the experts are spread over all of them.
            draft: Whether the draft is loaded.
        """
        experts = self.experts + (self.draft_experts if draft else 0)
        split = self.split + (self.draft if draft else 0)
        spread = tensor * data if expert_parallel else tensor
        return experts / spread + split / tensor + self.whole


def weights(shape: Shape, checkpoint: int | None = None) -> Weights:
    """Return the weights of a model.

    Args:
        shape: Its structure.
        checkpoint: Size of all its tensors, in bytes, where it is known; the parts are then
            scaled to it.
    """
    experts, split, whole = _body(shape)
    draft_experts, draft = _draft(shape)
    computed = experts + split + whole + draft_experts + draft
    factor = checkpoint / computed if checkpoint else 1.0
    return Weights(
        experts=experts * factor,
        split=split * factor,
        whole=whole * factor,
        draft_experts=draft_experts * factor,
        draft=draft * factor,
        measured=checkpoint is not None,
        computed=computed,
    )


def _body(shape: Shape) -> tuple[float, float, float]:
    bits = shape.precision
    experts = _experts_of_a_layer(shape) * (shape.experts.layers if shape.experts else 0)
    split, whole = 0.0, 0.0
    for layer in range(shape.layers):
        split_here, whole_here = _attention(shape, layer)
        split, whole = split + split_here, whole + whole_here
    split += _feed_forward(shape)
    whole += _router(shape) * (shape.experts.layers if shape.experts else 0)
    tables = 1 if shape.tied else 2
    split += tables * shape.vocabulary * shape.hidden * bits.rest / 8
    return experts, split, whole


def _experts_of_a_layer(shape: Shape) -> float:
    if shape.experts is None:
        return 0.0
    return (
        3 * shape.hidden * shape.experts.width * shape.experts.count * shape.precision.experts / 8
    )


def _feed_forward(shape: Shape) -> float:
    """Dense feed-forward networks and shared experts."""
    dense = shape.layers - (shape.experts.layers if shape.experts else 0)
    shared = shape.experts.shared * shape.experts.layers if shape.experts else 0
    return 3 * shape.hidden * (shape.width * dense + shared) * shape.precision.linear / 8


def _router(shape: Shape) -> float:
    count = shape.experts.count if shape.experts else 0
    return shape.hidden * count * shape.precision.rest / 8


def _attention(shape: Shape, layer: int) -> tuple[float, float]:
    """One layer's attention: what tensor parallelism splits, and what every GPU holds whole."""
    if shape.compressed is not None:
        return _compressed(shape, layer)
    if shape.latent is not None:
        return _latent(shape)
    heads = shape.heads * 2 + shape.kv_heads * 2
    return shape.hidden * heads * shape.head_dim * shape.precision.linear / 8, 0.0


def _latent(shape: Shape) -> tuple[float, float]:
    part, hidden, heads = shape.latent, shape.hidden, shape.heads
    if part is None:
        return 0.0, 0.0
    query = heads * (part.nope + part.rope)
    split = (part.q_rank or hidden) * query + part.kv_rank * heads * (part.nope + part.value)
    split += heads * part.value * hidden
    whole = hidden * (part.q_rank + part.kv_rank + part.rope)
    # The server keeps the second half of the key and value projection once more, unquantized.
    absorbed = heads * (part.nope + part.value) * part.kv_rank * shape.precision.rest / 8
    linear = shape.precision.linear / 8
    return split * linear + absorbed, whole * linear


def _compressed(shape: Shape, layer: int) -> tuple[float, float]:
    """DeepSeek-V4: what makes queries and outputs is split, what makes the cache is not."""
    part, hidden = shape.compressed, shape.hidden
    if part is None:
        return 0.0, 0.0
    linear, rest = shape.precision.linear / 8, shape.precision.rest / 8
    inner = shape.heads * shape.head_dim
    split = part.q_rank * inner + inner * part.o_rank + part.o_groups * part.o_rank * hidden
    whole = hidden * (part.q_rank + shape.head_dim) * linear
    ratio = part.ratios[layer]
    if ratio > 1:
        # Ratio 4 looks at two windows at once, so its compressor is twice as wide.
        whole += hidden * 2 * shape.head_dim * (2 if ratio == 4 else 1) * rest
    if ratio == 4:
        whole += part.q_rank * part.index_heads * part.index_dim * linear
        whole += hidden * (part.index_heads + 2 * 2 * part.index_dim) * rest
    mix = (2 + part.streams) * part.streams
    whole += 2 * mix * part.streams * hidden * _FLOAT / 8
    return split * linear, whole


def _draft(shape: Shape) -> tuple[float, float]:
    """Experts and the rest of the draft's layers, each of which is like one of the model's."""
    if not shape.draft_layers:
        return 0.0, 0.0
    split, whole = _attention(shape, 0)
    shared = shape.experts.shared if shape.experts else shape.width
    rest = split + whole + _router(shape) + 3 * shape.hidden * shared * shape.precision.linear / 8
    # Two projections join the model's hidden state with the embedding of the next token.
    rest += 2 * shape.hidden * shape.hidden * shape.precision.linear / 8
    return _experts_of_a_layer(shape) * shape.draft_layers, rest * shape.draft_layers
