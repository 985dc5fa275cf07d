"""Believing a build only when what was asked for is read from the bytes that it made."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from dsv4_doctor.binary.inspection import Options, inspect_path
from dsv4_doctor.binary.requirements import (
    archs_of_requirements,
    decide,
    families_of,
    parse_requirements,
)
from dsv4_doctor.errors import BuildError
from dsv4_doctor.knowledge.model import accepts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from dsv4_build.plan import Plan
    from dsv4_doctor.binary.contents import Inspection
    from dsv4_doctor.binary.requirements import Decision
    from dsv4_doctor.knowledge.model import Extension


@dataclass(frozen=True)
class Proof:
    """What the result of a build holds.

    Attributes:
        inspections: One for each wheel, or one for the directory of a narrowed build.
        decisions: One for each requirement of the plan.
        absent: Extension modules that the release declares and that are not there.
    """

    inspections: tuple[Inspection, ...]
    decisions: tuple[Decision, ...]
    absent: tuple[Extension, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the proof as plain data."""
        return {
            "decisions": [each.to_json() for each in self.decisions],
            "inspections": [each.to_json() for each in self.inspections],
            "absent": [{"name": each.name, "optional": each.optional} for each in self.absent],
        }


def prove(plan: Plan, result: Path) -> Proof:
    """Read what a build made and decide what the plan asks of it.

    Args:
        result: The directory that holds it.

    Raises:
        BuildError: Something is missing, or could not be told.
    """
    requirements = parse_requirements(plan.scope.require)
    wheels = sorted(result.glob("*.whl"))
    families, archs = families_of(requirements), archs_of_requirements(requirements)
    inspections = tuple(
        inspect_path(each, Options(prove=families, prefer=archs)) for each in wheels or [result]
    )
    # A wheel is built for one tree, so that one inspection has to meet every requirement.
    decided = [decision for each in inspections for decision in decide(each, requirements)]
    failed = [decision for decision in decided if decision.status != "present"]
    if failed:
        lines = "\n".join(f"  {each.requirement}: {each.status}, {each.reason}" for each in failed)
        msg = f"proof: the result does not hold what was asked for\n{lines}"
        raise BuildError(msg, hint=f"nothing was put into {plan.out}; the result is in {result}")
    names = [each.name for inspection in inspections for each in inspection.objects]
    return Proof(inspections, tuple(decided), absent(plan, names) if wheels else ())


def absent(plan: Plan, names: Sequence[str]) -> tuple[Extension, ...]:
    """Return the extension modules that the release declares and a wheel does not have.

    The build of an optional one may end without it, and says nothing.

    Args:
        names: Shared objects of the wheel.
    """
    release = plan.tree.release
    if release is None:
        return ()
    nvcc = plan.choices.toolchain.toolkit.nvcc_version or ""
    declared = (
        each
        for each in release.extensions
        if each.file
        and accepts(each.nvcc, nvcc)
        and accepts(each.python, plan.choices.python.version)
    )
    return tuple(each for each in declared if not _any_matches(names, each.file))


def _any_matches(names: Iterable[str], pattern: str) -> bool:
    return any(fnmatchcase(name, pattern) for name in names)
