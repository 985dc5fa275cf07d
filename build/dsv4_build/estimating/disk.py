"""What a plan will write where, and how much room is there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_build.estimating import knowledge
from dsv4_build.estimating.units import finished
from dsv4_doctor.knowledge import machine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_build.plan import Plan

_GIB = 1 << 30


@dataclass(frozen=True)
class Disk:
    """What is written to one directory.

    Attributes:
        what: In words.
        bytes: How much.
        least: How much of it before the first unit is compiled, and for that.
        free: What an ordinary user may still take there, ``None`` when it could not be told.
        device: Which file system it is on, for telling directories of one apart from others.
        basis: Where the number comes from.
    """

    what: str
    path: str
    bytes: int
    least: int
    free: int | None
    device: int | None
    basis: str


def needs(plan: Plan, units: int) -> tuple[Disk, ...]:
    """Return what a plan writes to its work directory and to the cache.

    Args:
        units: How many are compiled.
    """
    return tuple(_needs(plan, units))


def _needs(plan: Plan, units: int) -> Iterator[Disk]:
    known = knowledge.content()["disk"]
    if finished(plan):
        return
    tree, unit, basis = known["work"][plan.tree.recipe.name], known["unit"], known["at"]
    if Path(plan.work, "source").exists():
        tree = 0  # An interrupted build has left it.
    total = tree + units * unit
    if plan.tree.release is not None and plan.scope.only is None:
        cited = machine.values()["build_disk_gib"]
        total = max(total, int(machine.number("build_disk_gib") * _GIB))
        basis = f"modelled: {cited.place.file}"
    yield _disk("work directory", plan.work, total, tree + unit, basis)
    chosen = plan.choices.toolchain
    if chosen.selection is not None and not Path(chosen.root).exists():
        size = known["toolchain"][chosen.selection.group]
        yield _disk("toolkit from PyPI", chosen.root, size, size, known["at"])


def _disk(what: str, path: str, total: int, least: int, basis: str) -> Disk:
    free, device = _room(Path(path))
    return Disk(what, path, total, least, free, device, basis)


def _room(path: Path) -> tuple[int | None, int | None]:
    try:
        existing = next(each for each in (path, *path.parents) if each.exists())
        state = os.statvfs(existing)
        return state.f_bavail * state.f_frsize, existing.stat().st_dev
    except OSError:
        return None, None
