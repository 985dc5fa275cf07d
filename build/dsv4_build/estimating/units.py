"""Which units a plan compiles: read from a configured tree, else counted in an earlier one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.version import Version

from dsv4_build import ninja
from dsv4_build.estimating import knowledge
from dsv4_doctor.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_build.plan import Plan


@dataclass(frozen=True)
class Units:
    """The units of a plan.

    Attributes:
        objects: As CMake names them: ``CMakeFiles/COMPONENT.dir/SOURCE.o``.
        basis: Where they were counted; empty when nothing is known.
        exact: Whether they were read from this very build.
        done: Of ``objects``, how many an interrupted build has left; they are not among them.
        uncounted: Components that the plan builds and of which nothing is known.
    """

    objects: tuple[str, ...]
    basis: str = ""
    exact: bool = False
    done: int = 0
    uncounted: tuple[str, ...] = ()


def units(plan: Plan) -> Units:
    """Return the units of a plan that are to be compiled."""
    if finished(plan):
        return Units((), "an earlier run has compiled and linked everything", exact=True)
    for directory in _configured(plan):
        found = _listed(plan, directory)
        if found is not None:
            return found
    recipes = knowledge.content()["recipes"]
    if plan.tree.recipe.name in recipes:
        return _counted(plan, recipes[plan.tree.recipe.name])
    nearest = _nearest(plan.release)
    found = _counted(plan, knowledge.content()["releases"][nearest])
    if nearest == plan.release:
        return found
    basis = f"{found.basis}; vLLM {plan.release} was not counted and may have others"
    return Units(found.objects, basis, uncounted=found.uncounted)


def finished(plan: Plan) -> bool:
    """Whether an earlier build of the same inputs has left its result."""
    return any(Path(plan.work, "result").glob("*"))


def object_of(component: str, source: str) -> str:
    """Return the name that CMake gives an object."""
    return f"CMakeFiles/{component}.dir/{source}.o"


def _configured(plan: Plan) -> Iterator[Path]:
    work = Path(plan.work)
    places = [work / "build", *sorted(work.glob("source/build/temp*"))]
    return (each for each in places if (each / "build.ninja").is_file())


def _listed(plan: Plan, directory: Path) -> Units | None:
    try:
        listed = ninja.list_targets(plan.choices.tool("ninja"), directory).units
    except BuildError:
        return None
    wanted = [each.object for each in listed if _asked_for(plan, each.component, each.source)]
    if not wanted:
        return None
    left = tuple(each for each in wanted if not (directory / each).is_file())
    basis = f"listed by ninja in {directory}, which an earlier run has configured"
    return Units(left, basis, exact=True, done=len(wanted) - len(left))


def _counted(plan: Plan, record: dict[str, Any]) -> Units:
    counted: dict[str, list[str]] = record["units"]
    objects = tuple(
        object_of(component, source)
        for component, sources in counted.items()
        for source in sources
        if _asked_for(plan, component, source)
    )
    return Units(objects, record["at"], uncounted=_uncounted(plan, counted))


def _asked_for(plan: Plan, component: str, source: str) -> bool:
    only = plan.scope.only
    if only is None or component in only.components:
        return True
    return any(wish.matches(component, source) for wish in only.units)


def _uncounted(plan: Plan, counted: dict[str, list[str]]) -> tuple[str, ...]:
    """Return extension modules of which nobody has counted the units."""
    only, release = plan.scope.only, plan.tree.release
    # Those without a file are of Python alone.
    named = (
        {each.name for each in release.extensions if each.file} if release is not None else set()
    )
    wanted = named if only is None else named & only.touched
    return tuple(sorted(wanted - counted.keys()))


def _nearest(release: str) -> str:
    """Return the counted release that is closest: the newest that is not newer, else the oldest."""
    known = sorted(knowledge.content()["releases"], key=Version)
    older = [each for each in known if Version(each) <= Version(release or "0")]
    nearest: str = older[-1] if older else known[0]
    return nearest
