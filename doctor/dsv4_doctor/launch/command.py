"""From the chosen way to the whole command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.knowledge import launch as knowledge
from dsv4_doctor.launch import deepseek_v4

if TYPE_CHECKING:
    from dsv4_doctor.launch.choose import Candidate, Wanted
    from dsv4_doctor.launch.machine import Machine
    from dsv4_doctor.launch.parameters import Command
    from dsv4_doctor.launch.shape import Shape

# A request of this length is short: more running sequences than of these fit only wait.
SHORT = 2048
_BLOCK = 256


def compose(
    command: Command, shape: Shape, machine: Machine, wanted: Wanted, candidate: Candidate
) -> None:
    """Add all parameters of a server."""
    is_v4 = shape.compressed is not None
    if is_v4:
        deepseek_v4.cache(command)
    elif candidate.setup.kv_dtype != "auto":
        command.add("--kv-cache-dtype", candidate.setup.kv_dtype, "kv-fp8")
    _parallel(command, shape, candidate)
    _memory(command, shape, machine, wanted, candidate)
    if is_v4:
        deepseek_v4.kernels(command, shape, machine, candidate)
        deepseek_v4.parsers(command)
        deepseek_v4.draft(command, shape, machine, wanted=wanted.draft)
    if wanted.goal == "latency":
        command.omit("--enforce-eager", "eager")


def _parallel(command: Command, shape: Shape, candidate: Candidate) -> None:
    split = candidate.setup.split
    if split.tensor > 1:
        reason = "tensor-single-kv" if shape.single_kv else "tensor"
        command.add("--tensor-parallel-size", split.tensor, reason, gpus=split.tensor)
    if split.data > 1:
        reason = "data-single-kv" if shape.single_kv else "data"
        command.add("--data-parallel-size", split.data, reason, copies=split.data)
    if split.expert_parallel:
        count = shape.experts.count if shape.experts else 0
        command.add(
            "--enable-expert-parallel", True, "expert-parallel", experts=count, gpus=split.gpus
        )


def length(shape: Shape, candidate: Candidate) -> int:
    """Return the context that the command gives: the model's own, or whole blocks of what fits."""
    safe = candidate.budget.safe
    return safe if safe >= shape.context or safe < _BLOCK else safe // _BLOCK * _BLOCK


def _memory(
    command: Command, shape: Shape, machine: Machine, wanted: Wanted, candidate: Candidate
) -> None:
    setup = candidate.setup
    context = length(shape, candidate)
    if wanted.length is not None and wanted.length < context:
        command.add("--max-model-len", wanted.length, "length-asked")
    elif context < shape.context:
        command.add("--max-model-len", context, "length-fits", limit=shape.context)
    else:
        command.omit("--max-model-len", "length-whole", limit=shape.context)
    default = wanted.utilizations[0]
    if setup.utilization != default:
        command.add("--gpu-memory-utilization", setup.utilization, "utilization", default=default)
    else:
        command.omit("--gpu-memory-utilization", "utilization-default", default=default)
    batch = knowledge.batch(wanted.release, machine.memory, small=machine.small)
    if setup.batched != batch.tokens:
        command.add("--max-num-batched-tokens", setup.batched, "batched", default=batch.tokens)
    held = sequences(shape, candidate)
    if held < batch.sequences:
        command.add("--max-num-seqs", max(held, 1), "sequences", default=batch.sequences)


def sequences(shape: Shape, candidate: Candidate) -> int:
    """Return how many short sequences one copy holds at once, a multiple of 8 where it can be."""
    layout, kv = candidate.budget.layout, candidate.budget.kv
    held = layout.sequences(kv, min(SHORT, shape.context, max(candidate.budget.longest, 1)))
    return held // 8 * 8 if held >= 8 else held


def running(command: Command, machine: Machine) -> int:
    """Return how many sequences one copy schedules at once: what is given, else the default."""
    given = [each for each in command.parameters if each.flag == "--max-num-seqs"]
    if given:
        return int(given[0].value)
    return knowledge.batch(command.release, machine.memory, small=machine.small).sequences
