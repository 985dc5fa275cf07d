"""The KV cache of one GPU, by the model's structure and how it is split."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.launch import kv_deepseek_v4
from dsv4_doctor.launch.kv_layout import Group, Layout

if TYPE_CHECKING:
    from dsv4_doctor.knowledge.launch import Accounting
    from dsv4_doctor.launch.shape import Shape

# Tokens a block where no kernel asks for another size.
_BLOCK = 16
_LATENT_BLOCK = 64
_BYTES = {"auto": 2, "fp8": 1}


def layout(  # noqa: PLR0913 - what a cache depends on
    shape: Shape,
    accounting: Accounting,
    *,
    tensor: int,
    dtype: str,
    draft: bool = False,
    fp4_index: bool = False,
) -> Layout:
    """Return the KV cache of one GPU.

    Args:
        shape: The model.
        accounting: How the release counts.
        tensor: Tensor-parallel size.
        dtype: ``auto`` for that of the model, or ``fp8``.
        draft: Whether the draft is loaded.
        fp4_index: Whether DeepSeek-V4's indexer keeps its keys as MXFP4.
    """
    layers = shape.draft_layers if draft else 0
    if shape.compressed is not None:
        return kv_deepseek_v4.layout(
            shape, shape.compressed, accounting, draft=layers, fp4_index=fp4_index
        )
    if shape.latent is not None:
        state = (shape.latent.kv_rank + shape.latent.rope) * _BYTES[dtype]
        size = (shape.layers + layers) * _LATENT_BLOCK * state
        return Layout((Group(_LATENT_BLOCK),), size, size, accounting.in_flight)
    # With more GPUs than heads, each GPU keeps a copy of one.
    heads = max(shape.kv_heads // tensor, 1)
    page = 2 * heads * shape.head_dim * _BYTES[dtype] * _BLOCK
    return _windowed(shape, page, layers, accounting)


def _windowed(shape: Shape, page: int, draft: int, accounting: Accounting) -> Layout:
    """Layers with a window and layers without take blocks in groups of the same size."""
    full = shape.layers - shape.window_layers + draft
    sliding = shape.window_layers
    kinds = [each for each in (full, sliding) if each]
    size = min(kinds)
    # Padding costs less than many groups, where the two kinds are nearly as many.
    if max(kinds) < 1.5 * size:
        size = max(kinds)
    groups = [Group(_BLOCK, None, -(-full // size))] if full else []
    if sliding:
        groups.append(Group(_BLOCK, shape.window, -(-sliding // size)))
    return Layout(tuple(groups), page * size, page * size, accounting.in_flight)
