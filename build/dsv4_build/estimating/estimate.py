"""What a plan will take of processors, memory and disk, each with where the number comes from."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from dsv4_build.estimating import disk
from dsv4_build.estimating.units import finished, units
from dsv4_build.schedule import costs, learned

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dsv4_build.estimating.disk import Disk
    from dsv4_build.estimating.units import Units
    from dsv4_build.plan import Plan
    from dsv4_build.schedule.costs import Cost
    from dsv4_build.schedule.learned import Learned

Decider: TypeAlias = Literal["processors", "memory", "longest unit", ""]


@dataclass(frozen=True)
class UnitCost:
    """One unit.

    Attributes:
        name: ``COMPONENT:SOURCE``.
        seconds: CPU time on this machine.
        peak: Most memory, in bytes.
        mean: Memory on average over its life, in bytes.
        basis: ``learned``, ``measured`` or ``family``.
    """

    name: str
    family: str
    seconds: float
    peak: int
    mean: int
    basis: str


@dataclass(frozen=True)
class FamilyCost:
    """The units of one family.

    Attributes:
        seconds: CPU time of all.
        longest: CPU time of the longest.
        peak: Most memory of any, in bytes.
        bases: How many units have their costs from where.
    """

    name: str
    units: int
    seconds: float
    longest: float
    peak: int
    bases: dict[str, int]


@dataclass(frozen=True)
class Estimate:
    """What a build will take.

    Attributes:
        units: How many are to be compiled.
        done: How many an interrupted build has left.
        exact: Whether the units were read from this very build.
        counted: Where they were counted.
        seconds: CPU time of all.
        wall: Seconds below which no order of the units comes on this machine; ``None`` when that
            could not be told.
        decided_by: What decides ``wall``.
        longest: The unit that takes longest, ``None`` without units; as ``largest``.
        largest: The one that needs the most memory.
        peaks: Bytes of the largest units together, as many as run at a time: more is never used.
        speed: Times that this machine takes as long as the one that costs were measured on.
        speed_basis: Where that comes from.
        costs_basis: Where costs that were not learned here come from.
        unknown: What could not be told.
    """

    units: int
    done: int
    exact: bool
    counted: str
    families: tuple[FamilyCost, ...]
    seconds: float
    wall: float | None
    decided_by: Decider
    longest: UnitCost | None
    largest: UnitCost | None
    peaks: int
    disk: tuple[Disk, ...]
    speed: float
    speed_basis: str
    costs_basis: str
    unknown: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return it as part of a plan's document."""
        return asdict(self)


def estimate(plan: Plan, cache: Path) -> Estimate:
    """Estimate what a plan will take.

    Args:
        cache: Where this machine's own costs are kept.
    """
    found = units(plan)
    own = learned.load(_learned_in(plan, cache))
    speed, speed_basis = _speed(plan, own)
    listed = [_cost(plan, each, own, speed) for each in found.objects]
    wall, decided_by = _wall(listed, plan)
    peaks = sorted((each.peak for each in listed), reverse=True)
    return Estimate(
        units=len(listed),
        done=found.done,
        exact=found.exact,
        counted=found.basis,
        families=_families(listed),
        seconds=sum(each.seconds for each in listed),
        wall=wall,
        decided_by=decided_by,
        longest=max(listed, key=lambda each: each.seconds, default=None),
        largest=max(listed, key=lambda each: each.peak, default=None),
        peaks=sum(peaks[: plan.choices.jobs.count]),
        disk=disk.needs(plan, len(listed)),
        speed=speed,
        speed_basis=speed_basis,
        costs_basis=costs.of_tree(plan.tree.recipe.name).source,
        unknown=tuple(_unknown(plan, found, listed)),
    )


def cost_of(plan: Plan, object_path: str, own: Learned) -> Cost:
    """Return what a unit costs where costs were measured, or here when that was learned."""
    return costs.expected(object_path, len(plan.scope.archs), plan.tree.recipe.name, own)


def _learned_in(plan: Plan, cache: Path) -> Path:
    archs = [arch.sm for arch in plan.scope.archs]
    compiler = plan.choices.toolchain.toolkit.nvcc_version or ""
    return learned.place(cache, plan.tree.recipe.name, archs, compiler)


def _speed(plan: Plan, own: Learned) -> tuple[float, str]:
    """Return how this machine compares, from units that were measured there and learned here."""
    known = costs.of_tree(plan.tree.recipe.name).units
    times = 1 + costs.DEVICE_PART * (len(plan.scope.archs) - 1)
    both = [
        record.seconds / (known[name].seconds * times)
        for name, record in own.units.items()
        if name in known
    ]
    if both:
        return median(both), f"{len(both)} units that were compiled here before"
    return 1.0, "nothing was compiled here before: taken to be as fast as where costs were measured"


def _cost(plan: Plan, object_path: str, own: Learned, speed: float) -> UnitCost:
    cost = cost_of(plan, object_path, own)
    times = 1.0 if cost.basis == "learned" else speed
    mean = int(cost.peak * sum(cost.curve.levels) / len(cost.curve.levels))
    name = costs.name_of(object_path)
    return UnitCost(name, cost.family, cost.seconds * times, cost.peak, mean, cost.basis)


def _families(listed: Sequence[UnitCost]) -> tuple[FamilyCost, ...]:
    names = Counter(each.family for each in listed)
    made = [_family(name, [each for each in listed if each.family == name]) for name in names]
    return tuple(sorted(made, key=lambda each: -each.seconds))


def _family(name: str, members: Sequence[UnitCost]) -> FamilyCost:
    return FamilyCost(
        name=name,
        units=len(members),
        seconds=sum(each.seconds for each in members),
        longest=max(each.seconds for each in members),
        peak=max(each.peak for each in members),
        bases=dict(Counter(each.basis for each in members)),
    )


def _wall(listed: Sequence[UnitCost], plan: Plan) -> tuple[float | None, Decider]:
    host = plan.facts.host
    if not listed:
        return 0.0, ""
    if host is None:
        return None, ""
    cores = min(host.cpus, plan.choices.jobs.count)
    bounds: dict[Decider, float] = {
        "processors": sum(each.seconds for each in listed) / cores,
        "longest unit": max(each.seconds for each in listed),
    }
    if host.memory_available:
        area = sum(each.seconds * each.mean for each in listed)
        bounds["memory"] = area / host.memory_available
    decider = max(bounds, key=lambda each: bounds[each])
    return bounds[decider], decider


def _unknown(plan: Plan, found: Units, listed: Sequence[UnitCost]) -> list[str]:
    gaps = []
    if found.uncounted:
        gaps.append(f"units of {', '.join(found.uncounted)}: nobody has counted them")
    if not listed and not found.exact:
        gaps.append("what is to be compiled: the tree says so once it is configured")
    if plan.tree.release is not None and not finished(plan):
        gaps.append("linking, and the time to fetch external projects and to configure")
    return gaps
