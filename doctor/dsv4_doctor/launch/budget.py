"""The memory of one GPU, item by item, for one way to split a model and to schedule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dsv4_doctor.knowledge import launch as knowledge
from dsv4_doctor.launch.kv import layout

if TYPE_CHECKING:
    from dsv4_doctor.launch.kv_layout import Layout
    from dsv4_doctor.launch.machine import Machine
    from dsv4_doctor.launch.shape import Shape
    from dsv4_doctor.launch.split import Split
    from dsv4_doctor.launch.weights import Weights

GIB = 1 << 30


@dataclass(frozen=True)
class Setup:
    """What decides about memory.

    Attributes:
        split: How the GPUs are used.
        utilization: ``--gpu-memory-utilization``.
        batched: ``--max-num-batched-tokens``.
        kv_dtype: ``auto`` or ``fp8``.
        draft: Whether the draft is loaded.
        fp4_index: Whether DeepSeek-V4's indexer keeps its keys as MXFP4.
        eager: Whether no CUDA graphs are captured.
    """

    split: Split
    utilization: float
    batched: int
    kv_dtype: str = "auto"
    draft: bool = False
    fp4_index: bool = False
    eager: bool = False


@dataclass(frozen=True)
class Budget:
    """The memory of the fullest GPU, in bytes.

    Attributes:
        memory: All of it.
        requested: What the server may use.
        weights: What it holds of them.
        context: CUDA, NCCL and the modules that are loaded: an estimate.
        activation: Peak of one step: an estimate.
        graphs: CUDA graphs: an estimate.
        kv: What is left for the KV cache; negative when the rest alone does not fit.
        longest: Longest request that fits, in tokens, at most the model's own limit.
        safe: The same with less KV cache, by what the estimates may miss: with a context that is a
            little too long the server would not start.
        layout: The KV cache.
    """

    memory: int
    requested: int
    weights: int
    context: int
    activation: int
    graphs: int
    kv: int
    longest: int
    safe: int
    layout: Layout

    @property
    def headroom(self) -> int:
        """What the server leaves alone."""
        return self.memory - self.requested


def budget(shape: Shape, weights: Weights, machine: Machine, setup: Setup, release: str) -> Budget:
    """Return the memory of the fullest GPU."""
    split = setup.split
    requested = int(machine.memory * setup.utilization)
    held = weights.a_gpu(
        split.tensor, split.data, expert_parallel=split.expert_parallel, draft=setup.draft
    )
    context = knowledge.cost("context_gib") * GIB
    activation = _activation(shape, setup.batched)
    graphs = 0.0 if setup.eager else knowledge.cost("graphs_gib") * GIB
    kv = int(requested - held - context - activation - graphs)
    cache = layout(
        shape,
        knowledge.accounting(release),
        tensor=split.tensor,
        dtype=setup.kv_dtype,
        draft=setup.draft,
        fp4_index=setup.fp4_index,
    )
    return Budget(
        memory=machine.memory,
        requested=requested,
        weights=int(held),
        context=int(context),
        activation=int(activation),
        graphs=int(graphs),
        kv=kv,
        longest=_longest(shape, cache, setup, kv),
        safe=_longest(shape, cache, setup, kv * (1 - knowledge.cost("kv_margin"))),
        layout=cache,
    )


def _longest(shape: Shape, cache: Layout, setup: Setup, memory: float) -> int:
    # One block of the pool is never given out.
    usable = memory - cache.block_bytes
    return cache.longest(usable, setup.batched, shape.context) if usable > 0 else 0


def _activation(shape: Shape, batched: int) -> float:
    moe = shape.experts is not None
    width = knowledge.cost("activation_experts_bytes" if moe else "activation_bytes")
    base = knowledge.cost("activation_base_gib") if moe else 0.0
    return base * GIB + batched * shape.hidden * width
