"""What the KV cache of a model looks like in memory, and how many blocks of it a request takes.

vLLM keeps one pool of blocks. Each group of layers takes blocks from it for itself, and every block
is as large as the widest group needs: that is why a request of DeepSeek-V4 costs hundreds of
megabytes before its first token, whatever its length.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Group:
    """Layers that take blocks together.

    Attributes:
        block: Tokens that one block stands for.
        window: Tokens that its layers look back, ``None`` for all.
        count: How many groups of this kind there are.
    """

    block: int
    window: int | None = None
    count: int = 1

    def blocks(self, length: int, in_flight: int) -> int:
        """Return how many blocks one request of this length holds at most.

        Args:
            length: Tokens, at least 1.
            in_flight: Tokens that may be scheduled and not yet settled; a window is freed behind
                them only.
        """
        if self.window is None:
            return self.count * _ceil(length, self.block)
        # One more, because a window may begin within a block.
        held = min(self.window - 1 + in_flight, length)
        return self.count * (_ceil(held, self.block) + 1)


@dataclass(frozen=True)
class Layout:
    """The KV cache of one GPU.

    Attributes:
        groups: All of them.
        block_bytes: What one block takes of the pool.
        checked_bytes: What vLLM counts for one block when it checks at its start that the longest
            request fits, which some releases count more.
        in_flight: Batches that may be under way at once.
    """

    groups: tuple[Group, ...]
    block_bytes: int
    checked_bytes: int
    in_flight: int = 1

    def blocks(self, length: int, batched: int) -> int:
        """Return the blocks that one request holds at most.

        Args:
            length: Its tokens.
            batched: ``--max-num-batched-tokens``.
        """
        tokens = self.in_flight * batched
        return sum(each.blocks(length, tokens) for each in self.groups)

    def decoding(self, length: int) -> int:
        """Return the blocks that a request holds while it generates, one token a step."""
        return sum(each.blocks(length, 1) for each in self.groups)

    def needed(self, length: int, batched: int) -> int:
        """Return the bytes that vLLM demands at its start for one request of this length."""
        return self.blocks(length, batched) * self.checked_bytes

    def longest(self, memory: float, batched: int, limit: int) -> int:
        """Return the longest request that fits, in tokens, 0 when not even one token does."""
        low, high = 0, limit
        while low < high:
            middle = (low + high + 1) // 2
            if self.needed(middle, batched) <= memory:
                low = middle
            else:
                high = middle - 1
        return low

    def pool(self, memory: float) -> int:
        """Return the blocks of the pool; one of them is never used."""
        return max(int(memory // self.block_bytes), 0)

    def concurrency(self, memory: float, length: int, batched: int) -> float:
        """Return ``Maximum concurrency`` as vLLM logs it at its start."""
        return self.pool(memory) / self.blocks(length, batched)

    def sequences(self, memory: float, length: int) -> int:
        """Return how many sequences of this length fit at once while they generate."""
        return max(self.pool(memory) - 1, 0) // self.decoding(length)


def _ceil(value: int, by: int) -> int:
    return -(-value // by)
