"""Which of the documents of one text are about the same machine, and what they tell together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dsv4_doctor.ingest import collect_env
from dsv4_doctor.ingest.told import Told, ToldGpu

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def group(documents: Iterable[Told]) -> list[tuple[Told, ...]]:
    """Return the documents of each machine.

    A document belongs to the machine before it unless something speaks against it: a second text
    of collect_env, another driver, other GPUs, or another kind of machine.
    """
    machines: list[list[Told]] = []
    for told in documents:
        if machines and all(_agree(told, other) for other in machines[-1]):
            machines[-1].append(told)
        else:
            machines.append([told])
    return [tuple(each) for each in machines]


def _agree(one: Told, other: Told) -> bool:
    if is_collect_env(one) and is_collect_env(other):
        return False
    if one.foreign != other.foreign and (one.host or one.foreign) and (other.host or other.foreign):
        return False
    drivers = {each.driver.get("nvml") for each in (one, other)} - {None}
    if len(drivers) > 1:
        return False
    mine, theirs = ({gpu.index: gpu for gpu in each.gpus or ()} for each in (one, other))
    whole = not (one.no_gpus or other.no_gpus) and one.gpus is not None and other.gpus is not None
    if whole and mine.keys() != theirs.keys():
        return False
    return all(mine[index].may_be(theirs[index]) for index in mine.keys() & theirs.keys())


def is_collect_env(told: Told) -> bool:
    """Whether this is the text of a Python environment and not only of a driver."""
    return told.kind.startswith(collect_env.KIND)


def merge(documents: Sequence[Told]) -> Told:
    """Return what the documents of one machine tell together; what was told last holds."""
    merged = documents[0]
    for told in documents[1:]:
        changes: dict[str, Any] = {
            name: {**getattr(merged, name), **getattr(told, name)}
            for name in ("host", "driver", "topology", "torch", "packages", "tools")
        }
        for name in ("python", "nvcc", "gcc", "environment"):
            later = getattr(told, name)
            changes[name] = later if later is not None else getattr(merged, name)
        changes["gpus"], changes["no_gpus"] = _gpus(merged, told)
        changes["foreign"] = merged.foreign or told.foreign
        merged = replace(merged, last=told.last, **changes)
    kinds = dict.fromkeys(told.kind for told in documents)
    return replace(merged, kind=", ".join(kinds))


def _gpus(earlier: Told, later: Told) -> tuple[tuple[ToldGpu, ...] | None, str]:
    if earlier.gpus is None or later.gpus is None:
        one = earlier if later.gpus is None else later
        return one.gpus, one.no_gpus or ("" if one.gpus else later.no_gpus)
    found = {gpu.index: gpu for gpu in earlier.gpus}
    for gpu in later.gpus:
        found[gpu.index] = _gpu(found[gpu.index], gpu) if gpu.index in found else gpu
    # One list that has all GPUs is enough.
    reason = earlier.no_gpus if earlier.no_gpus and later.no_gpus else ""
    return tuple(found[index] for index in sorted(found)), reason


def _gpu(earlier: ToldGpu, later: ToldGpu) -> ToldGpu:
    told = {name: value for name, value in later.values.items() if value is not None}
    values = {**later.values, **earlier.values, **told}
    if later.shortened and earlier.name:
        values["name"] = earlier.name
    named = [each.shortened for each in (earlier, later) if each.name]
    return ToldGpu(later.index, values, shortened=bool(named) and all(named))
