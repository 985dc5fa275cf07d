"""The GPUs that a server would run on: those of a snapshot, or so many of a model by its name."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dsv4_doctor.arch import Arch
from dsv4_doctor.errors import InputError, UsageError
from dsv4_doctor.knowledge.gpus import gpu_model, gpu_models

if TYPE_CHECKING:
    from dsv4_doctor.facts.gpu import Gpu
    from dsv4_doctor.facts.resources import Place
    from dsv4_doctor.knowledge.gpus import GpuModel
    from dsv4_doctor.snapshot import Snapshot

MAX_GPUS = 64
# NVML counts at least so much of the gigabytes that the maker prints, over all models of which
# both are known; a test of knowledge/gpus.json holds that.
_COUNTED = 0.98


@dataclass(frozen=True)
class Machine:
    """GPUs of one kind.

    Attributes:
        gpu: As NVML or the table calls it.
        arch: Their architecture.
        memory: Of one GPU, in bytes.
        count: How many there are.
        linked: Whether NVLink joins them, ``None`` when it is not known.
        host_memory: In bytes, ``None`` when it is not known.
        storage: Where the model lies, or downloads do, ``None`` when it is not known.
        notes: What a reader should know of where these facts come from.
    """

    gpu: str
    arch: Arch
    memory: int
    count: int
    linked: bool | None = None
    host_memory: int | None = None
    storage: Place | None = None
    notes: tuple[str, ...] = ()

    @property
    def small(self) -> bool:
        """Whether vLLM schedules as on a small GPU, whatever the memory."""
        return "a100" in self.gpu.lower() or self.arch.number == 121


def named(name: str, count: int) -> Machine:
    """Return so many GPUs of a known model.

    Raises:
        UsageError: The model is not known, the name means several, or nobody has read its memory.
    """
    if not 1 <= count <= MAX_GPUS:
        msg = f"--gpus {count}: from 1 to {MAX_GPUS} can be planned for"
        raise UsageError(msg)
    model = _model(name)
    memory = memory_of(model)
    if memory is None:
        msg = f"nobody has entered the memory of {model.name}: give a --snapshot of the machine"
        raise UsageError(msg)
    notes: tuple[str, ...] = ()
    if model.memory is None:
        notes = (f"memory of {model.name} is what its maker prints, less 2 percent",)
    linked = bool(model.nvlinks.value) if model.nvlinks is not None else None
    return Machine(model.name, model.arch, memory, count, linked, notes=notes)


def memory_of(model: GpuModel) -> int | None:
    """Return the memory of one GPU in bytes, ``None`` when it was not established."""
    if model.memory is not None:
        return model.memory.value
    return int((model.memory_gb.value << 30) * _COUNTED) if model.memory_gb is not None else None


def _model(name: str) -> GpuModel:
    exact = gpu_model(name)
    if exact is not None:
        return exact
    words = name.lower().replace("nvidia", "").split()
    found = [each for each in gpu_models() if words and _has(each.name.lower().split(), words)]
    if len(found) == 1:
        return found[0]
    if found:
        msg = f"--gpu {name!r} is one of {', '.join(each.name for each in found)}: say which"
        raise UsageError(msg)
    msg = f"unknown GPU {name!r}; known: {', '.join(each.name for each in gpu_models())}"
    raise UsageError(msg)


def _has(model: list[str], words: list[str]) -> bool:
    return all(word in model for word in words)


def of(snapshot: Snapshot, name: str) -> Machine:
    """Return the GPUs of a machine; of a mixed one those of which there are most.

    Args:
        snapshot: Its facts.
        name: Where they are from, for error messages.

    Raises:
        InputError: It has none, or does not tell their memory or architecture.
    """
    usable = [each for each in snapshot.gpus or () if each.error is None and each.memory]
    if not usable:
        run = snapshot.probe("gpus")
        why = run.error if run is not None and run.error else "it has none"
        msg = f"{name}: no GPU to plan for: {why}"
        raise InputError(msg, hint="plan for another machine with --gpu NAME --gpus N")
    kinds = Counter((each.name, each.memory or 0) for each in usable)
    (gpu, memory), count = kinds.most_common(1)[0]
    chosen = [each for each in usable if (each.name, each.memory) == (gpu, memory)]
    notes = []
    if len(kinds) > 1:
        notes.append(f"the machine is mixed: planned is for {count} of {len(usable)} GPUs, {gpu}")
    if any(each.mig for each in chosen):
        notes.append("MIG is on: what a server may use is an instance, not the whole GPU")
    return Machine(
        gpu,
        _arch(chosen[0], name),
        memory,
        count,
        _linked(snapshot, {each.index for each in chosen}),
        snapshot.host.memory if snapshot.host is not None else None,
        snapshot.resources.place("model") if snapshot.resources is not None else None,
        tuple(notes),
    )


def _arch(gpu: Gpu, name: str) -> Arch:
    try:
        return Arch.parse(gpu.compute_capability or "")
    except ValueError:
        known = gpu_model(gpu.name)
        if known is not None:
            return known.arch
        msg = f"{name}: does not tell the compute capability of {gpu.name}"
        raise InputError(msg) from None


def _linked(snapshot: Snapshot, indices: set[int]) -> bool | None:
    """Whether NVLink joins all pairs, as NVML says it of each."""
    if len(indices) == 1 or snapshot.topology is None:
        return None
    pairs = [each for each in snapshot.topology.peers if {each.first, each.second} <= indices]
    told = [each.nvlink for each in pairs if each.nvlink is not None]
    return all(each == "OK" for each in told) if told else None
