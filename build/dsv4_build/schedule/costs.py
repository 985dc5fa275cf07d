"""What a unit costs to compile: learned here, measured elsewhere, or by its family.

Names of units and families are those of one tree: a unit of the same name in another tree is
another unit.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsv4_build.estimating import knowledge as counted
from dsv4_build.schedule.curve import FLAT, Curve
from dsv4_build.schedule.outlook import Expectation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsv4_build.schedule.learned import Learned

_FILE = Path(__file__).parent.parent / "knowledge" / "compile_costs.json"

# What CMake names objects, with the tree that declares the component before it.
_OBJECT = re.compile(r"(?:^|.*/)CMakeFiles/(?P<component>[^/]+)\.dir/(?P<source>.+)\.o")

# Part of a unit's time that is spent anew for each architecture: cicc and ptxas. The rest, the
# host compiler and cudafe++, is spent once.
DEVICE_PART = 0.75

OTHER = "other"

# Of a unit of an embedded tree, that was measured once.
_SPREAD = 0.05


@dataclass(frozen=True)
class Cost:
    """What a unit costs.

    Attributes:
        seconds: CPU time on the machine that ``basis`` names.
        peak: Largest memory of all its processes together, in bytes.
        spread: How far the peak may be off, as fraction of it (one standard deviation).
        curve: Memory over its life.
        basis: Where this comes from: ``learned``, ``measured`` or ``family``.
    """

    seconds: float
    peak: int
    spread: float
    curve: Curve
    family: str
    basis: str

    def expectation(self, speed: float = 1.0) -> Expectation:
        """Return what to expect on a machine that takes ``speed`` times as long."""
        return Expectation(self.seconds * speed, self.peak, self.spread, self.curve)


@dataclass(frozen=True)
class Family:
    """Units that cost about the same.

    Attributes:
        seconds: Mean CPU time.
        peak: Mean of the peaks, in bytes.
        spread: Standard deviation of the peaks, as fraction of the mean.
        general: Whether its pattern tells something of any tree, not only of the one measured.
    """

    name: str
    pattern: re.Pattern[str]
    seconds: float
    peak: int
    spread: float
    curve: Curve
    general: bool

    def cost(self) -> Cost:
        """Return what is expected of a unit of which nothing else is known."""
        return Cost(self.seconds, self.peak, self.spread, self.curve, self.name, "family")


@dataclass(frozen=True)
class Knowledge:
    """Costs that were measured on other machines.

    Attributes:
        units: By name, see :func:`name_of`.
        source: Who measured what, and how.
        tree: Whose units these are: the name of a recipe.
    """

    families: tuple[Family, ...]
    units: Mapping[str, Cost]
    source: str
    tree: str

    def family(self, object_path: str) -> Family:
        """Return the family of an object; the last one takes all."""
        return next(each for each in self.families if each.pattern.search(object_path))


def name_of(object_path: str) -> str:
    """Return ``COMPONENT:SOURCE`` of an object that CMake named, or the path itself."""
    match = _OBJECT.fullmatch(object_path)
    return f"{match['component']}:{match['source']}" if match is not None else object_path


def expected(object_path: str, archs: int, tree: str, learned: Learned | None = None) -> Cost:
    """Return what a unit is expected to cost.

    Args:
        object_path: As ninja names it.
        archs: Architectures that it is compiled for.
        tree: Whose unit it is: the name of a recipe.
        learned: What this machine has learned for the same tree, architectures and compiler.
    """
    name, known = name_of(object_path), of_tree(tree)
    family = known.family(object_path)
    own = learned.cost(name, family.name) if learned is not None else None
    if own is not None:
        return own
    cost = known.units.get(name) or family.cost()
    times = 1 + DEVICE_PART * max(archs - 1, 0)
    return replace(cost, seconds=cost.seconds * times)


def family_of(object_path: str) -> str:
    """Return the name of an object's family, which in another tree says no more than its path."""
    return knowledge().family(object_path).name


@cache
def knowledge() -> Knowledge:
    """Return what the package knows."""
    return parse(json.loads(_FILE.read_text(encoding="utf-8")))


@cache
def of_tree(tree: str) -> Knowledge:
    """Return what is known of a tree's units; of one that nobody measured, what holds for any."""
    known = knowledge()
    if tree == known.tree:
        return known
    families = tuple(family for family in known.families if family.general)
    general = Knowledge(families, {}, known.source, tree)
    record = counted.content()["recipes"].get(tree)
    if record is None:
        return general
    units = {}
    for name, cost in record["costs"].items():
        seconds, peak = float(cost["seconds"]), int(cost["peak"])
        family = general.family(f"{name.partition(':')[2]}.o").name
        units[name] = Cost(seconds, peak, _SPREAD, FLAT, family, "measured")
    return Knowledge(families, units, str(record["costs_at"]), tree)


def parse(data: Mapping[str, Any]) -> Knowledge:
    """Read the content of a knowledge file.

    Raises:
        ValueError, KeyError, TypeError: It has another form.
    """
    families = tuple(_family(name, each) for name, each in data["families"].items())
    by_name = {family.name: family for family in families}
    units = {}
    for name, record in data["units"].items():
        family = by_name[record["family"]]
        curve = Curve.from_json(record["curve"]) if "curve" in record else family.curve
        units[name] = Cost(
            float(record["seconds"]),
            int(record["peak"]),
            float(data["spread"]),
            curve,
            family.name,
            "measured",
        )
    return Knowledge(families, units, data["source"], data["tree"])


def _family(name: str, record: Mapping[str, Any]) -> Family:
    return Family(
        name=name,
        pattern=re.compile(record["pattern"]),
        seconds=float(record["seconds"]),
        peak=int(record["peak"]),
        spread=float(record["spread"]),
        curve=Curve.from_json(record["curve"]) if "curve" in record else FLAT,
        general=bool(record.get("general", False)),
    )
