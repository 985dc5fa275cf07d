"""The two kernels of the smoke tree against a reference in plain Python.

Inputs and outputs are bytes, so that neither torch nor numpy has to be there. Every function
returns the largest absolute error and how large it may be.
"""

from __future__ import annotations

import math
import random
import struct
from array import array
from typing import Any

HEAD = 64
BLOCK = 16

# The paged kernel computes in float32 alone: sums of up to 1300 products, and exp2f, which is good
# to 2 ulp. That loses some 1e-6 of means that are below 5.
FLOAT32_TOLERANCE = 1e-4

# The inputs of the Hopper kernel are values that float16 holds exactly, none larger than LARGEST.
# What is rounded to float16 is the probabilities: by at most 2**-11 of each, hence of their mean.
LARGEST = 4.0
FLOAT16_TOLERANCE = LARGEST * 2.0**-11 + FLOAT32_TOLERANCE

_Row = list[float]


def paged_attention_v2(module: Any) -> tuple[float, float]:
    """Run sequences of one, two and three partitions."""
    heads, kv_heads = 8, 2
    lengths = [1, 700, 1300]
    per_seq = -(-max(lengths) // BLOCK)
    blocks = per_seq * len(lengths)
    generator = random.Random(0)  # noqa: S311 - numbers to compute with
    query = _floats(generator, len(lengths) * heads * HEAD)
    keys, values = (_floats(generator, blocks * BLOCK * kv_heads * HEAD) for _ in range(2))
    tables = list(range(blocks))
    generator.shuffle(tables)
    arrays = (query, keys, values, array("i", tables), array("i", lengths))
    sizes = (len(lengths), heads, kv_heads, blocks, per_seq)
    raw = module.paged_attention_v2(*(each.tobytes() for each in arrays), *sizes, HEAD**-0.5)
    found = array("f", raw)
    worst = 0.0
    for seq, length in enumerate(lengths):
        for head in range(heads):
            at = (seq * heads + head) * HEAD
            group = head * kv_heads // heads
            rows = [
                ((tables[seq * per_seq + i // BLOCK] * BLOCK + i % BLOCK) * kv_heads + group) * HEAD
                for i in range(length)
            ]
            expected = attention(
                list(query[at : at + HEAD]),
                [list(keys[row : row + HEAD]) for row in rows],
                [list(values[row : row + HEAD]) for row in rows],
            )
            worst = max(worst, _largest(expected, found[at : at + HEAD]))
    return worst, FLOAT32_TOLERANCE


def flash_forward(module: Any) -> tuple[float, float]:
    """Run every query against every key."""
    return _flash(module, causal=False)


def flash_forward_causal(module: Any) -> tuple[float, float]:
    """Run with the mask of FlashAttention, in which the last query sees the last key."""
    return _flash(module, causal=True)


def attention(query: _Row, keys: list[_Row], values: list[_Row]) -> _Row:
    """Return attention of one query, in double precision."""
    scale = HEAD**-0.5
    scores = [scale * sum(map(float.__mul__, query, key)) for key in keys]
    top = max(scores)
    weights = [math.exp(score - top) for score in scores]
    total = sum(weights)
    columns = zip(*values, strict=True)
    return [sum(map(float.__mul__, weights, column)) / total for column in columns]


def _flash(module: Any, *, causal: bool) -> tuple[float, float]:
    # Lengths that fill no block of the kernel.
    heads, queries, keys = 2, 70, 140
    generator = random.Random(1)  # noqa: S311 - likewise
    q = _halves(generator, heads * queries * HEAD)
    k, v = (_halves(generator, heads * keys * HEAD) for _ in range(2))
    raw = module.fwd(*(_pack(each) for each in (q, k, v)), heads, queries, keys, HEAD**-0.5, causal)
    found = array("f", raw)
    worst = 0.0
    for head in range(heads):
        rows = [(head * keys + i) * HEAD for i in range(keys)]
        own_keys, own_values = ([of[row : row + HEAD] for row in rows] for of in (k, v))
        for i in range(queries):
            at = (head * queries + i) * HEAD
            seen = i + keys - queries + 1 if causal else keys
            expected = attention(q[at : at + HEAD], own_keys[:seen], own_values[:seen])
            worst = max(worst, _largest(expected, found[at : at + HEAD]))
    return worst, FLOAT16_TOLERANCE


def _floats(generator: random.Random, count: int) -> array[float]:
    return array("f", (generator.gauss(0, 1) for _ in range(count)))


def _halves(generator: random.Random, count: int) -> _Row:
    """Return values that float16 holds exactly."""
    return [
        max(-LARGEST, min(LARGEST, round(generator.gauss(0, 1) * 256) / 256)) for _ in range(count)
    ]


def _pack(values: _Row) -> bytes:
    return struct.pack(f"<{len(values)}e", *values)


def _largest(expected: _Row, found: array[float]) -> float:
    errors = [abs(a - b) for a, b in zip(expected, found, strict=True)]
    # A comparison with NaN is false, so that max() could pass over it.
    return math.inf if any(map(math.isnan, errors)) else max(errors)
