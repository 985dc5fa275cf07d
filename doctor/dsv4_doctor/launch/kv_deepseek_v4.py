"""The KV cache of DeepSeek-V4 in vLLM: five kinds of pages in one pool.

Read in ``vllm/models/deepseek_v4/attention.py``, ``compressor.py``,
``vllm/v1/attention/backends/mla/sparse_swa.py`` and ``vllm/v1/core/kv_cache_utils.py`` of the
releases that the rules in ``knowledge/launch.json`` name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dsv4_doctor.launch.kv_layout import Group, Layout

if TYPE_CHECKING:
    from dsv4_doctor.knowledge.launch import Accounting
    from dsv4_doctor.launch.shape import Compressed, Shape

_BLOCK = 256
# 448 bytes without positions, 128 with, 8 of scales.
_STATE = 584
# Pages are rounded up to this.
_ALIGNMENT = 576
_WINDOW_BLOCK = 64
# Tokens a block of the compressors' states, by ratio.
_STATE_BLOCK = {4: 4, 128: 8}


def layout(
    shape: Shape, part: Compressed, accounting: Accounting, *, draft: int, fp4_index: bool
) -> Layout:
    """Return the KV cache of one GPU, which no parallelism within a replica makes smaller.

    Args:
        shape: The model.
        part: Its attention.
        accounting: How the release counts.
        draft: Layers of the draft that is loaded, which have the window alone.
        fp4_index: Whether the indexer's keys are kept as MXFP4, else FP8.
    """
    sparse, dense = part.ratios.count(4), part.ratios.count(128)
    window = shape.layers + draft
    pages = _pages(shape, part, fp4_index=fp4_index)
    counts = _Counts(sparse, dense, window, _repeats(sparse, dense, window, accounting))
    # Where states are padded to a page of the model's, the indexer's fit none of its own kind when
    # that is small, and take one as large as attention's: twice as many of these.
    crowded = accounting.pool in {"tuples", "buckets"} and pages["index"] < pages["index_state"]
    groups = (
        Group(_BLOCK),
        Group(_WINDOW_BLOCK, shape.window, counts.groups(window)),
        Group(_STATE_BLOCK[4], 8, counts.groups(sparse * 2 if crowded else sparse)),
        Group(_STATE_BLOCK[128], 128, counts.groups(dense)),
    )
    return Layout(
        groups,
        _block(accounting.pool, pages, counts),
        _block(accounting.check, pages, counts),
        accounting.in_flight,
    )


@dataclass(frozen=True)
class _Counts:
    """Layers of each kind, and how many of a kind one group has at most."""

    sparse: int
    dense: int
    window: int
    repeats: int

    def groups(self, layers: int) -> int:
        return _ceil(layers, self.repeats)

    def widest(self, layers: int) -> int:
        """Layers of the largest of the groups that a kind is split into."""
        return _ceil(layers, self.groups(layers))


def _block(rule: str, pages: dict[str, int], counts: _Counts) -> int:
    """Bytes of one block of the pool, by the rule of the release."""
    window = counts.widest(counts.window)
    tuples = max(counts.sparse, counts.dense, window)
    if rule == "tuples":
        return tuples * (pages["sparse"] + pages["index"] + pages["dense"])
    full = counts.sparse * pages["index"] + counts.dense * pages["dense"]
    if rule == "buckets":
        return max(counts.sparse, window, counts.widest(counts.dense)) * pages["sparse"] + full
    return max(
        full + counts.sparse * pages["sparse"],
        window * pages["sparse"],
        counts.widest(counts.sparse) * (pages["state"] + pages["index_state"]),
        counts.widest(counts.dense) * pages["state"],
    )


def _pages(shape: Shape, part: Compressed, *, fp4_index: bool) -> dict[str, int]:
    """Bytes of one block of one layer, by what it holds."""
    index = part.index_dim // 2 + part.index_dim // 32 if fp4_index else part.index_dim + 4
    return {
        "sparse": _aligned(_BLOCK // 4 * _STATE),
        "dense": _aligned(_BLOCK // 128 * _STATE),
        "index": _aligned(_BLOCK // 4 * index),
        "state": _aligned(_STATE_BLOCK[4] * 2 * 2 * shape.head_dim * 4),
        "index_state": _aligned(_STATE_BLOCK[4] * 2 * 2 * part.index_dim * 4),
    }


def _repeats(sparse: int, dense: int, window: int, accounting: Accounting) -> int:
    """How many layers of a kind one group has: what pads least, as vLLM searches it."""
    counted = [window, sparse, dense]
    low = sparse
    if accounting.check == "tuples":
        low = max(sparse, dense)
        counted.append(low)
    best, least = low, -1
    for each in range(low, max(counted) + 1):
        padding = sum(-count % each for count in counted)
        if least < 0 or padding <= least:
            best, least = each, padding
    return best


def _aligned(size: int) -> int:
    return _ceil(size, _ALIGNMENT) * _ALIGNMENT


def _ceil(value: int, by: int) -> int:
    return -(-value // by)
