"""What keeps a model from a machine, and which machines would do."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dsv4_doctor.knowledge import launch as knowledge
from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.gpus import gpu_model, gpu_models
from dsv4_doctor.knowledge.models import family
from dsv4_doctor.launch.choose import choose
from dsv4_doctor.launch.machine import Machine, memory_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.arch import Arch
    from dsv4_doctor.knowledge.model import Release
    from dsv4_doctor.knowledge.models import Checkpoint
    from dsv4_doctor.launch.choose import Wanted
    from dsv4_doctor.launch.shape import Shape
    from dsv4_doctor.launch.source import Source
    from dsv4_doctor.launch.weights import Weights

# Sizes in which machines are sold.
_COUNTS = (1, 2, 4, 8, 16)
MOST = _COUNTS[-1]
_SHOWN = 6


def of_release(source: Source, shape: Shape, release: Release) -> tuple[str, ...]:
    """Return what keeps this release from serving this model on any GPU."""
    return tuple(_of_release(source, shape, release))


def _of_release(source: Source, shape: Shape, release: Release) -> Iterator[str]:
    known = knowledge.architecture(shape.architecture)
    if knowledge.version(release.name) < knowledge.version(known.first):
        yield (
            f"vLLM {release.name} has no {shape.architecture}: the first release with it is"
            f" {known.first} ({known.place})"
        )
        return
    like = source.published or _like(shape)
    listed = release.name in load.release_names()
    if like is not None and listed and not like.vllm.contains(release.name):
        yield f"{like.name} needs vLLM {like.vllm}, not {release.name} ({like.vllm_place})"
    if not shape.precision.known and source.size is None:
        yield (
            f"the size of its weights is not known: its quantization, {shape.precision.name!r}, is"
            " unknown, and no checkpoint lies beside its config.json"
        )


def _like(shape: Shape) -> Checkpoint | None:
    """A published checkpoint with the same structure and draft, ``None`` when there is none."""
    alike = (shape.architecture, shape.draft)
    known = family().checkpoints
    return next((each for each in known if alike == (each.architecture, each.draft)), None)


def of_gpu(shape: Shape, machine: Machine, release: Release) -> str:
    """Return what keeps the release from serving this model on this GPU, empty for nothing."""
    no = _unsupported(shape, machine.arch, release)
    return f"{machine.gpu} ({machine.arch.sm}): {no}" if no else ""


def _unsupported(shape: Shape, arch: Arch, release: Release) -> str:
    """Why the release does not run this model on an architecture, empty when it does."""
    if shape.compressed is None:
        lists = [each.archs for each in release.cuda_archs]
        oldest = min((each.number for archs in lists for each in archs), default=0)
        if arch.number < oldest:
            place = release.cuda_archs[0].place
            return f"vLLM {release.name} is built for sm_{oldest} and newer ({place})"
        return ""
    feature = release.features.get(family().feature)
    majors = feature.compute_majors if feature is not None else ()
    if feature is not None and majors and arch.major not in majors:
        listed = ", ".join(f"{each}.x" for each in majors)
        return (
            f"DeepSeek-V4's attention in vLLM {release.name} has kernels for compute capability"
            f" {listed} only, and this is {arch.major}.{arch.minor}"
            f" ({'; '.join(str(each) for each in feature.places[1:3])})"
        )
    if shape.precision.name.startswith("nvfp4") and arch.major < 10:
        reason = knowledge.reason("nvfp4-blackwell")
        return f"{reason.text} ({reason.place})"
    return ""


def smallest(
    shape: Shape, weights: Weights, wanted: Wanted, release: Release, gpu: str
) -> tuple[str, ...]:
    """Return the fewest of each kind of GPU that would do: the same kind first, then by size."""
    found = []
    same = next((each for each in gpu_models() if gpu == each.name), gpu_model(gpu))
    for model in gpu_models():
        memory = memory_of(model)
        if memory is None or _unsupported(shape, model.arch, release):
            continue
        here = replace(wanted, fp4_index=wanted.fp4_index and model.arch.major == 10)
        for count in _COUNTS:
            machine = Machine(model.name, model.arch, memory, count)
            best, _ = choose(shape, weights, machine, here)
            if best is not None and best.setup.split.gpus == count:
                text = f"{count} x {model.name}: up to {best.budget.safe:,} tokens"
                found.append((model is not same, count * memory, text))
                break
    found.sort(key=lambda each: each[:2])
    return tuple(text for _, _, text in found[:_SHOWN])
