"""Features that are others together, such as DeepSeek-V4's: what they make a build need."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from dsv4_doctor.errors import BuildError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dsv4_build.plan import Plan
    from dsv4_doctor.arch import Arch
    from dsv4_doctor.knowledge.model import Extension, Feature


def modules(
    named: Iterable[str], features: Mapping[str, Feature], archs: Sequence[Arch]
) -> tuple[Feature, ...]:
    """Return the features whose modules have to be there for what was named.

    A feature that is others together stands for those that have code for the architectures.

    Args:
        archs: What is built for.

    Raises:
        UsageError: None of them has.
    """
    found: list[Feature] = []
    for name in named:
        feature = features.get(name)
        if feature is None or not feature.present:
            continue
        parts = [features[each] for each in feature.needs or (name,)]
        fitting = [each for each in parts if each.file and _fits(each, archs)]
        if feature.needs and not fitting:
            built = ", ".join(arch.sm for arch in archs)
            msg = f"{name} needs {', '.join(feature.needs)}, which have no code for {built}"
            raise UsageError(msg)
        found += fitting
    return tuple(dict.fromkeys(found))


def _fits(feature: Feature, archs: Sequence[Arch]) -> bool:
    return not feature.archs or any(arch.base in archs for arch in feature.archs)


def require(plan: Plan, absent: Sequence[Extension]) -> None:
    """Refuse a wheel without an optional module that something that was asked for needs.

    Raises:
        BuildError: One was skipped, which the tree's build does without a word.
    """
    missing = {each.name: each for each in absent}
    lines = [
        f"  {feature.component} ({feature.name}): {_why(plan, feature)}"
        for feature in plan.scope.modules
        if feature.component in missing
    ]
    if lines:
        text = "\n".join(lines)
        msg = f"proof: the tree's build skipped modules that were asked for\n{text}"
        raise BuildError(msg, hint=f"the log says why: {plan.work}/build.log")


def _why(plan: Plan, feature: Feature) -> str:
    nvcc = plan.choices.toolchain.toolkit.nvcc_version
    asks = f"it asks for nvcc {feature.nvcc}, this is {nvcc}" if feature.nvcc else ""
    return asks or feature.note or "it is optional in the tree"


def needed_by(name: str, features: Mapping[str, Feature]) -> tuple[str, ...]:
    """Return the features that need the extension module of this name."""
    parts = {each.name for each in features.values() if each.component == name}
    return tuple(each.name for each in features.values() if parts & set(each.needs))


def any_matches(names: Iterable[str], pattern: str) -> bool:
    """Whether a shared object's name fits a pattern."""
    return any(fnmatchcase(name, pattern) for name in names)
