"""Which of the ways to use the GPUs serves a goal best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dsv4_doctor.knowledge import launch as knowledge
from dsv4_doctor.launch.budget import Budget, Setup, budget
from dsv4_doctor.launch.split import splits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.launch.machine import Machine
    from dsv4_doctor.launch.shape import Shape
    from dsv4_doctor.launch.split import Split
    from dsv4_doctor.launch.weights import Weights

Goal = Literal["throughput", "latency", "context"]
# A typical request when sequences are counted to compare two ways.
TYPICAL = 8192
# Smaller steps than this cost more speed than the memory is worth.
_LEAST_BATCH = 2048


@dataclass(frozen=True)
class Wanted:
    """What is to be served, and how.

    Attributes:
        release: Of vLLM.
        goal: What counts.
        length: Tokens that a request must be able to have; ``None`` for what the goal asks for.
        utilizations: Values of ``--gpu-memory-utilization``, the first is preferred.
        draft: Whether the draft is to be loaded.
        fp4_index: As in :class:`~dsv4_doctor.launch.budget.Setup`.
        kv_dtypes: Types of the KV cache that may be used, the first is preferred.
    """

    release: str
    goal: Goal
    length: int | None
    utilizations: tuple[float, ...]
    draft: bool
    fp4_index: bool
    kv_dtypes: tuple[str, ...]


@dataclass(frozen=True)
class Candidate:
    """One way, with its memory."""

    setup: Setup
    budget: Budget

    def sequences(self, length: int) -> int:
        """Return how many sequences of this length fit at once, over all copies."""
        return self.budget.layout.sequences(self.budget.kv, length) * self.setup.split.data


def floor(shape: Shape, wanted: Wanted) -> int:
    """Return the context below which a goal is not served, in tokens."""
    if wanted.length is not None:
        return min(wanted.length, shape.context)
    if wanted.goal == "context":
        return shape.context
    name = "think_max_tokens" if shape.compressed is not None else "context_floor_tokens"
    return min(int(knowledge.cost(name)), shape.context)


def choose(
    shape: Shape, weights: Weights, machine: Machine, wanted: Wanted
) -> tuple[Candidate | None, tuple[Candidate, ...]]:
    """Return the best way, ``None`` when none holds a single token, and the best of each split.

    Where not all GPUs can be used together, as many as can are.
    """
    for count in range(machine.count, 0, -1):
        ways = tuple(splits(shape, count))
        best = [_best(shape, weights, machine, wanted, each) for each in ways]
        fitting = tuple(each for each in best if each.budget.safe > 0)
        if fitting:
            found = max(fitting, key=lambda each: _rank(shape, machine, wanted, each))
            if wanted.goal == "throughput" and shape.experts is None:
                found = _least_split(shape, wanted, found, fitting)
            return found, fitting
        if ways:
            return None, tuple(best)
    return None, ()


def _least_split(
    shape: Shape, wanted: Wanted, best: Candidate, fitting: tuple[Candidate, ...]
) -> Candidate:
    """The way that splits the model least and still holds half of what the best does.

    Each split exchanges the results of every layer between GPUs, which copies do not.
    """
    needed, typical = floor(shape, wanted), min(TYPICAL, shape.context)
    enough = [
        each
        for each in fitting
        if min(each.budget.safe, needed) >= min(best.budget.safe, needed)
        and 2 * each.sequences(typical) >= best.sequences(typical)
    ]
    return min(enough, key=lambda each: each.setup.split.tensor)


def _best(
    shape: Shape, weights: Weights, machine: Machine, wanted: Wanted, split: Split
) -> Candidate:
    """The first setup, in the order of preference, that reaches the length; else the longest."""
    length, found = floor(shape, wanted), []
    for setup in _setups(machine, wanted, split):
        candidate = Candidate(setup, budget(shape, weights, machine, setup, wanted.release))
        if candidate.budget.safe >= length:
            return candidate
        found.append(candidate)
    return max(found, key=lambda each: each.budget.safe)


def _setups(machine: Machine, wanted: Wanted, split: Split) -> Iterator[Setup]:
    default = knowledge.batch(wanted.release, machine.memory, small=machine.small).tokens
    for dtype in wanted.kv_dtypes:
        for utilization in wanted.utilizations:
            batched = default
            while batched >= min(default, _LEAST_BATCH):
                yield Setup(split, utilization, batched, dtype, wanted.draft, wanted.fp4_index)
                batched //= 2


def _rank(
    shape: Shape, machine: Machine, wanted: Wanted, candidate: Candidate
) -> tuple[float, ...]:
    """Larger is better: what the goal needs at least, then the goal itself."""
    length, split = floor(shape, wanted), candidate.setup.split
    reached = min(candidate.budget.safe, length)
    if wanted.goal == "latency":
        # All GPUs work on each token; whole experts on few GPUs would wait for the fullest.
        return (reached, split.tensor, not split.expert_parallel, candidate.setup.batched)
    # Without NVLink, what copies of the attention exchange for the experts goes over PCIe: the
    # recipes have no such setup verified.
    joined = machine.linked is not False or split.data == 1 or shape.experts is None
    held = candidate.sequences(reached if wanted.goal == "context" else min(TYPICAL, shape.context))
    return (reached, joined, held, -split.tensor, split.expert_parallel)
