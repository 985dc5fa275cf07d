"""From a model, a machine and a release to a plan."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dsv4_doctor.errors import UsageError
from dsv4_doctor.knowledge import launch as knowledge
from dsv4_doctor.launch import deepseek_v4
from dsv4_doctor.launch.advice import advised
from dsv4_doctor.launch.choose import Wanted, choose
from dsv4_doctor.launch.command import compose, running
from dsv4_doctor.launch.obstacles import MOST, of_gpu, of_release, smallest
from dsv4_doctor.launch.parameters import Command
from dsv4_doctor.launch.plan import Gpus, Model, Plan
from dsv4_doctor.launch.read_shape import shape as read_shape
from dsv4_doctor.launch.storage import reading, room
from dsv4_doctor.launch.view import alternatives, fits, memory
from dsv4_doctor.launch.weights import weights as read_weights

if TYPE_CHECKING:
    from dsv4_doctor.launch.choose import Candidate, Goal
    from dsv4_doctor.launch.machine import Machine
    from dsv4_doctor.launch.serving import Serving
    from dsv4_doctor.launch.shape import Shape
    from dsv4_doctor.launch.source import Source
    from dsv4_doctor.launch.weights import Weights

_GIB = 1 << 30
# What the recipe takes where the default leaves too little.
_TIGHT = 0.95
# The default of the releases that are known, for a tree that does not tell its own.
_USUAL = 0.92
# How far a checkpoint may be from what its structure lets expect.
_EXPECTED = 0.1


@dataclass(frozen=True)
class _Task:
    """All that a plan rests on."""

    source: Source
    shape: Shape
    weights: Weights
    machine: Machine
    vllm: Serving
    wanted: Wanted


def plan(
    source: Source, machine: Machine, vllm: Serving, goal: Goal, length: int | None = None
) -> Plan:
    """Return how to start this model on this machine.

    Args:
        source: The model.
        machine: The GPUs.
        vllm: What is to serve it.
        goal: What counts.
        length: Tokens that a request must be able to have, ``None`` for what the goal asks for.

    Raises:
        InputError: The config.json is none, or of a kind that this tool does not count.
        UsageError: The release is too old, or the context is longer than the model's.
    """
    release, first = vllm.release, knowledge.first_release()
    if knowledge.version(release.name) < knowledge.version(first):
        msg = f"vLLM {release.name} cannot be planned for: how it counts memory is not known"
        raise UsageError(msg, hint=f"known from {first} on")
    shape = read_shape(source.config)
    if length is not None and not 1 <= length <= shape.context:
        msg = f"--max-model-len {length}: the model's own limit is {shape.context} tokens"
        raise UsageError(msg)
    command = Command(release.name, vllm.flags)
    wanted = _wanted(shape, machine, command, goal, length)
    weights = read_weights(shape, source.size)
    task = _Task(source, shape, weights, machine, vllm, wanted)
    in_the_way = of_release(source, shape, release)
    if in_the_way:
        return replace(_base(task), obstacles=in_the_way)
    best, others = choose(shape, weights, machine, wanted)
    no = of_gpu(shape, machine, release)
    if no or best is None:
        return _refusal(task, no, others)
    compose(command, shape, machine, wanted, best)
    reading(command, machine, weights.total)
    return _answer(task, command, best, others)


def _wanted(
    shape: Shape, machine: Machine, command: Command, goal: Goal, length: int | None
) -> Wanted:
    default = command.default("--gpu-memory-utilization", _USUAL)
    dtypes: tuple[str, ...] = ("auto",)
    if shape.compressed is not None:
        dtypes = ("fp8",)
    elif goal == "context" and machine.arch.number >= 89:
        dtypes = ("auto", "fp8")
    index = deepseek_v4.indexer_flag(command)
    return Wanted(
        release=command.release,
        goal=goal,
        length=length,
        utilizations=(default, _TIGHT) if default < _TIGHT else (default,),
        draft=goal == "latency" and deepseek_v4.drafts(shape, machine),
        fp4_index=shape.compressed is not None and machine.arch.major == 10 and index is not None,
        kv_dtypes=dtypes,
    )


def _base(task: _Task) -> Plan:
    shape, weights, machine = task.shape, task.weights, task.machine
    model = Model(
        name=task.source.name,
        architecture=shape.architecture,
        attention=shape.attention,
        precision=shape.precision.name,
        context=shape.context,
        weights=int(weights.total),
        measured=weights.measured,
        source=task.source.where,
        dtypes=dict(task.source.dtypes),
    )
    gpus = Gpus(machine.gpu, machine.arch.sm, machine.memory, machine.count, 0, machine.linked)
    notes = [*task.vllm.notes, *task.source.notes, *machine.notes]
    share = weights.total / weights.computed
    if shape.precision.known and abs(share - 1) > _EXPECTED:
        notes.append(
            f"the checkpoint is {share:.2f} times as large as its config.json lets expect:"
            " how it splits over GPUs is less certain"
        )
    return Plan(task.wanted.release, task.wanted.goal, model, gpus, fits=False, notes=tuple(notes))


def _refusal(task: _Task, no: str, others: tuple[Candidate, ...]) -> Plan:
    """A plan for GPUs that this model is not for, or that are too small."""
    if not no:
        held = min((each.budget.weights for each in others), default=int(task.weights.total))
        no = (
            f"{held / _GIB:.1f} GiB of weights a GPU leave no room for a KV cache in"
            f" {task.machine.memory / _GIB:.1f} GiB"
        )
    machines = smallest(task.shape, task.weights, task.wanted, task.vllm.release, task.machine.gpu)
    nowhere = f"no {MOST} GPUs of a kind that is known would hold it, either"
    return replace(
        _base(task),
        obstacles=(no,) if machines else (no, nowhere),
        machines=machines,
        alternatives=alternatives(others),
    )


def _answer(task: _Task, command: Command, best: Candidate, others: tuple[Candidate, ...]) -> Plan:
    base, machine, split = _base(task), task.machine, best.setup.split
    words = [word for each in command.parameters for word in each.words]
    given = [each for each in command.parameters if each.flag == "--max-model-len"]
    length = int(given[0].value) if given else task.shape.context
    layout, batched = best.budget.layout, best.setup.batched
    return replace(
        base,
        gpus=replace(base.gpus, used=split.gpus),
        fits=True,
        argv=("vllm", "serve", base.model.name, *words),
        parameters=tuple(command.parameters),
        left_out=tuple(command.left_out),
        memory=memory(best, length),
        longest=best.budget.longest,
        running=running(command, machine),
        concurrency=round(layout.concurrency(best.budget.kv, length, batched), 2),
        sequences=fits(best, length),
        alternatives=alternatives(tuple(each for each in others if each is not best)),
        advice=advised(command, machine, task.wanted.goal),
        notes=(*base.notes, *_warnings(task, best)),
    )


def _warnings(task: _Task, best: Candidate) -> list[str]:
    machine, split = task.machine, best.setup.split
    # A published model that was found only by its name has to be downloaded.
    there = task.source.published is None or task.source.directory
    no_room = room(machine, task.weights.total, there=there)
    found = [no_room] if no_room else []
    if split.gpus < machine.count:
        unused = machine.count - split.gpus
        found.append(f"{unused} of {machine.count} GPUs stay unused: no split takes all of them")
    if machine.linked is False and split.tensor > 1:
        found.append("the GPUs have no NVLink: tensor parallelism sends each layer over PCIe")
    if split.gpus > _hosted(machine):
        found.append(
            f"{split.gpus} {machine.gpu} are several hosts: each needs the addresses of the others,"
            " too (docs/serving/data_parallel_deployment.md of vLLM)"
        )
    return found


def _hosted(machine: Machine) -> int:
    """How many of these GPUs one host has at most."""
    name = "gpus_a_tray" if " GB" in f" {machine.gpu}" else "gpus_a_host"
    return int(knowledge.cost(name))
