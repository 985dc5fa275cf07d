"""Believing a build only when what was asked for is read from the bytes that it made."""

from __future__ import annotations

import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsv4_build.handover import archive, needs, traces
from dsv4_build.trial import install
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
    from collections.abc import Sequence

    from dsv4_build.handover.traces import Trace
    from dsv4_build.plan import Plan
    from dsv4_build.trial.install import Loaded
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
        traces: Files of the wheel that name directories of this machine.
        needed: For each absent one the features that cannot run without it.
        loaded: What became of the modules of a wheel in a clean environment.
    """

    inspections: tuple[Inspection, ...]
    decisions: tuple[Decision, ...]
    absent: tuple[Extension, ...]
    traces: tuple[Trace, ...] = ()
    needed: dict[str, tuple[str, ...]] = field(default_factory=dict)
    loaded: Loaded | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the proof as plain data."""
        return {
            "decisions": [each.to_json() for each in self.decisions],
            "inspections": [each.to_json() for each in self.inspections],
            "absent": [
                {
                    "name": each.name,
                    "optional": each.optional,
                    "needed_by": list(self.needed.get(each.name, ())),
                }
                for each in self.absent
            ],
            "traces": [asdict(each) for each in self.traces],
            "loaded": asdict(self.loaded) if self.loaded is not None else None,
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
        inspect_path(each, Options(prove=families, prefer=archs, linkage=bool(wheels)))
        for each in wheels or [result]
    )
    # A wheel is built for one tree, so that one inspection has to meet every requirement.
    decided = [decision for each in inspections for decision in decide(each, requirements)]
    failed = [decision for decision in decided if decision.status != "present"]
    if failed:
        lines = "\n".join(f"  {each.requirement}: {each.status}, {each.reason}" for each in failed)
        msg = f"proof: the result does not hold what was asked for\n{lines}"
        raise BuildError(
            msg, hint=f"nothing was put into {plan.destination}; the result is in {result}"
        )
    if not wheels:
        return Proof(inspections, tuple(decided), ())
    names = [each.name for inspection in inspections for each in inspection.objects]
    for each in wheels:
        archive.require_version(each, plan.version)
    skipped = absent(plan, names)
    needs.require(plan, skipped)
    places = traces.places(plan, traces.home())
    traces.require_no_search_paths(inspections, places)
    source = Path(plan.work, "source")
    found = [trace for each in wheels for trace in traces.search(each, places, source)]
    traces.require_hidden(found, plan)
    needed = {each.name: needs.needed_by(each.name, plan.tree.features) for each in skipped}
    with tempfile.TemporaryDirectory(prefix=".install-", dir=plan.work) as scratch:
        log = Path(plan.work, "build.log")
        (loaded,) = (install.try_out(plan, each, Path(scratch), log) for each in wheels)
    return Proof(inspections, tuple(decided), skipped, tuple(found), needed, loaded)


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
    return tuple(each for each in declared if not needs.any_matches(names, each.file))
