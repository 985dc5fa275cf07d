#!/usr/bin/env python3
"""Runs the two kernels of a smoke wheel on this machine's GPU against a plain reference.

    scripts/check_smoke_on_gpu.py dist/dsv4_smoke-*.whl

Needs a Hopper GPU and numpy. Exit status 0 when both agree with the reference.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
import zipfile
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]

HEAD = 64
BLOCK = 16
TOLERANCE = 2e-3  # float16 inputs, accumulated in float32; the reference is float64


def softmax(scores: Array) -> Array:
    """Return the softmax over the last axis."""
    exponents = np.exp(scores - scores.max(axis=-1, keepdims=True))
    result: Array = exponents / exponents.sum(axis=-1, keepdims=True)
    return result


def paged(module: object, generator: np.random.Generator) -> float:
    """Return the largest error of paged_attention_v2 over sequences of several partitions."""
    seqs, heads, kv_heads = 3, 8, 2
    lengths = np.array([1, 700, 1300], np.int32)
    per_seq = int(-(-lengths.max() // BLOCK))
    blocks = per_seq * seqs
    query = generator.standard_normal((seqs, heads, HEAD), np.float32)
    keys, values = generator.standard_normal((2, blocks, BLOCK, kv_heads, HEAD), np.float32)
    tables = generator.permutation(blocks).astype(np.int32).reshape(seqs, per_seq)
    scale = HEAD**-0.5
    arrays = (query, keys, values, tables, lengths)
    sizes = (seqs, heads, kv_heads, blocks, per_seq)
    raw = module.paged_attention_v2(*(each.tobytes() for each in arrays), *sizes, scale)  # type: ignore[attr-defined]
    found = np.frombuffer(raw, np.float32).reshape(query.shape)
    worst = 0.0
    for seq, length in enumerate(lengths):
        own_keys = keys[tables[seq]].reshape(-1, kv_heads, HEAD)[:length].astype(np.float64)
        own_values = values[tables[seq]].reshape(-1, kv_heads, HEAD)[:length].astype(np.float64)
        for head in range(heads):
            group = head * kv_heads // heads
            weights = softmax(own_keys[:, group] @ query[seq, head].astype(np.float64) * scale)
            error = np.abs(weights @ own_values[:, group] - found[seq, head]).max()
            worst = max(worst, float(error))
    return worst


def flash(module: object, generator: np.random.Generator, *, causal: bool) -> float:
    """Return the largest error of the Hopper kernel, with lengths that fill no block."""
    heads, queries, keys = 4, 150, 200
    scale = HEAD**-0.5
    q = generator.standard_normal((heads, queries, HEAD), np.float32).astype(np.float16)
    k, v = generator.standard_normal((2, heads, keys, HEAD), np.float32).astype(np.float16)
    raw = module.fwd(  # type: ignore[attr-defined]
        *(each.tobytes() for each in (q, k, v)), heads, queries, keys, scale, causal
    )
    found = np.frombuffer(raw, np.float32).reshape(q.shape)
    scores = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1) * scale
    if causal:
        # As in FlashAttention: the last query sees the last key.
        masked = np.arange(keys)[None] > np.arange(queries)[:, None] + keys - queries
        scores[:, masked] = -np.inf
    return float(np.abs(softmax(scores) @ v.astype(np.float64) - found).max())


def main() -> int:
    """Print one line a kernel."""
    generator = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as place:
        with zipfile.ZipFile(sys.argv[1]) as wheel:
            wheel.extractall(place)
        sys.path.insert(0, place)
        paged_module = importlib.import_module("dsv4_smoke._C")
        flash_module = importlib.import_module("dsv4_smoke._fa3_C")
        errors = {
            "paged_attention_v2": paged(paged_module, generator),
            "flash_fwd_sm90": flash(flash_module, generator, causal=False),
            "flash_fwd_sm90, causal": flash(flash_module, generator, causal=True),
        }
    for name, error in errors.items():
        print(f"{name}: largest error {error:.1e}")
    return int(max(errors.values()) > TOLERANCE)


if __name__ == "__main__":
    raise SystemExit(main())
