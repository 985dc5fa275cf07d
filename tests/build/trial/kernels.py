"""The smoke kernels in plain Python, right or wrong on purpose."""

from __future__ import annotations

import math
import struct
from array import array
from dataclasses import dataclass
from typing import Any

HEAD = 64
BLOCK = 16


@dataclass(frozen=True)
class Kernels:
    """Stands for the modules of a smoke wheel.

    Attributes:
        off: Added to every element of a result.
        masked: Whether the causal mask is honoured.
    """

    off: float = 0.0
    masked: bool = True

    def paged_attention_v2(self, *given: Any) -> bytes:
        """As in ``csrc/attention/paged_attention_v2.cu``."""
        raw, sizes, scale = given[:5], given[5:10], given[10]
        query, keys, values = (array("f", each) for each in raw[:3])
        tables, lengths = (array("i", each) for each in raw[3:])
        _, heads, kv_heads, _, per_seq = sizes
        found = array("f")
        for seq, length in enumerate(lengths):
            for head in range(heads):
                at = (seq * heads + head) * HEAD
                rows = [
                    (tables[seq * per_seq + i // BLOCK] * BLOCK + i % BLOCK) * kv_heads
                    + head * kv_heads // heads
                    for i in range(length)
                ]
                own = [list(keys[row * HEAD : row * HEAD + HEAD]) for row in rows]
                seen = [list(values[row * HEAD : row * HEAD + HEAD]) for row in rows]
                found.extend(self._attend(list(query[at : at + HEAD]), own, seen, scale))
        return found.tobytes()

    def fwd(self, *given: Any) -> bytes:
        """As in ``csrc/hopper/flash_fwd_sm90.cu``."""
        q, k, v = (struct.unpack(f"<{len(each) // 2}e", each) for each in given[:3])
        heads, queries, keys, scale, causal = given[3:]
        found = array("f")
        for head in range(heads):
            rows = [(head * keys + i) * HEAD for i in range(keys)]
            for i in range(queries):
                seen = i + keys - queries + 1 if causal and self.masked else keys
                at = (head * queries + i) * HEAD
                own = [list(k[row : row + HEAD]) for row in rows[:seen]]
                values = [list(v[row : row + HEAD]) for row in rows[:seen]]
                found.extend(self._attend(list(q[at : at + HEAD]), own, values, scale))
        return found.tobytes()

    def _attend(
        self, query: list[float], keys: list[list[float]], values: list[list[float]], scale: float
    ) -> list[float]:
        weights = [
            math.exp(scale * sum(a * b for a, b in zip(query, key, strict=True))) for key in keys
        ]
        total = sum(weights)
        return [
            sum(w * row[i] for w, row in zip(weights, values, strict=True)) / total + self.off
            for i in range(HEAD)
        ]
