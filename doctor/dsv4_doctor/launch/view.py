"""What a plan shows of memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.launch.choose import TYPICAL
from dsv4_doctor.launch.plan import Alternative, Fits, Memory

if TYPE_CHECKING:
    from dsv4_doctor.launch.choose import Candidate

_LENGTHS = (2048, 8192, 32768, 131072, 393216)


def memory(candidate: Candidate, length: int) -> Memory:
    """Return the memory of the fullest GPU.

    Args:
        candidate: The chosen way.
        length: Context that the command gives, in tokens.
    """
    budget, setup = candidate.budget, candidate.setup
    layout = budget.layout
    # Over so many tokens that whole blocks hide nothing.
    span = 1 << 20
    more = layout.blocks(2 * span, setup.batched) - layout.blocks(span, setup.batched)
    return Memory(
        total=budget.memory,
        headroom=budget.headroom,
        weights=budget.weights,
        context=budget.context,
        activation=budget.activation,
        cuda_graphs=budget.graphs,
        kv_cache=budget.kv,
        kv_dtype=setup.kv_dtype,
        kv_per_token=more * layout.block_bytes // span,
        kv_per_request=layout.needed(length, setup.batched),
    )


def fits(candidate: Candidate, length: int) -> tuple[Fits, ...]:
    """Return how many sequences of some lengths up to the context are held at once."""
    lengths = [each for each in _LENGTHS if each < length]
    return tuple(Fits(each, candidate.sequences(each)) for each in [*lengths, length])


def alternatives(candidates: tuple[Candidate, ...]) -> tuple[Alternative, ...]:
    """Return other ways to use the GPUs, best first."""
    found = [_alternative(each) for each in candidates]
    return tuple(sorted(found, key=lambda each: (-each.sequences, -each.longest)))


def _alternative(candidate: Candidate) -> Alternative:
    split, budget = candidate.setup.split, candidate.budget
    return Alternative(
        split.tensor,
        split.data,
        split.expert_parallel,
        budget.longest,
        candidate.sequences(TYPICAL) if budget.kv > 0 else 0,
        budget.weights,
    )
