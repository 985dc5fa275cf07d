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
    if one.gpus is None or other.gpus is None or one.no_gpus or other.no_gpus:
        return True
    return len(one.gpus) == len(other.gpus) and all(
        mine.may_be(theirs) for mine, theirs in zip(one.gpus, other.gpus, strict=True)
    )


def is_collect_env(told: Told) -> bool:
    """Whether this is the text of a Python environment and not only of a driver."""
    return told.kind.startswith(collect_env.KIND)


def merge(documents: Sequence[Told]) -> Told:
    """Return what the documents of one machine tell together; what was told last holds."""
    merged = documents[0]
    for told in documents[1:]:
        changes: dict[str, Any] = {
            name: {**getattr(merged, name), **getattr(told, name)}
            for name in ("host", "driver", "torch", "packages", "tools")
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
    if later.gpus is None:
        return earlier.gpus, earlier.no_gpus
    if earlier.gpus is None:
        return later.gpus, later.no_gpus
    if len(earlier.gpus) != len(later.gpus):
        whole = earlier if later.no_gpus else later
        return whole.gpus, whole.no_gpus
    reason = earlier.no_gpus and later.no_gpus
    return tuple(map(_gpu, earlier.gpus, later.gpus)), reason


def _gpu(earlier: ToldGpu, later: ToldGpu) -> ToldGpu:
    values = {**earlier.values, **later.values}
    if later.shortened and earlier.name:
        values["name"] = earlier.name
    return ToldGpu(values, shortened=earlier.shortened and later.shortened)
