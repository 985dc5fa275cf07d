"""One unit of each family first, so that what does not compile is known in minutes, not an hour.

The objects are those of the build itself: ninja makes them in the build directory, and does not
make them again.
"""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from dsv4_build.schedule import costs
from dsv4_doctor.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from dsv4_build.ninja import Unit

# In the work directory: what the canary did, for the process that runs the build.
STATE = "canary.json"


@dataclass(frozen=True)
class Canary:
    """What came of it.

    Attributes:
        units: Objects that were compiled first.
        failed: Those that did not compile.
    """

    units: tuple[str, ...]
    failed: tuple[str, ...]

    @property
    def text(self) -> str:
        """One sentence for a person."""
        if not self.failed:
            return f"canary: {len(self.units)} units, one of each family, were compiled first"
        names = ", ".join(map(_named, self.failed))
        return (
            f"canary: {len(self.failed)} of {len(self.units)} families do not compile, and the "
            f"rest was not begun: {names}"
        )


def choose(units: Iterable[Unit]) -> tuple[str, ...]:
    """Return the object of the quickest unit of each family, component and language."""
    # Costs only order those of one kind, and every tree has its kinds named as vLLM's are.
    tree = costs.knowledge().tree
    quickest: dict[tuple[str, str, str], tuple[float, str]] = {}
    for unit in units:
        cost = costs.expected(unit.object, 1, tree)
        group = (unit.component, cost.family, unit.source.rpartition(".")[2])
        quickest[group] = min(quickest.get(group, (float("inf"), "")), (cost.seconds, unit.object))
    # The longest first, so that they are over together.
    return tuple(path for _, path in sorted(quickest.values(), reverse=True))


def outcome(units: Sequence[str], build: Path) -> Canary:
    """Return what came of a canary: a compiler that fails leaves no object."""
    return Canary(tuple(units), tuple(each for each in units if not (build / each).is_file()))


def write(canary: Canary, work: Path) -> None:
    """Keep what came of it for the process that runs the build."""
    (work / STATE).write_text(json.dumps(asdict(canary)), encoding="utf-8")


def forget(work: Path) -> None:
    """Remove what an earlier attempt has left: what it compiled may be gone since.

    Raises:
        BuildError: It cannot be removed.
    """
    try:
        (work / STATE).unlink(missing_ok=True)
    except OSError as error:
        msg = f"{work / STATE}: cannot be removed: {error}"
        raise BuildError(msg) from error


def read(work: Path) -> Canary | None:
    """Return what came of it, ``None`` when it has not run."""
    try:
        data = json.loads((work / STATE).read_text(encoding="utf-8"))
        return Canary(tuple(data["units"]), tuple(data["failed"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def explained(error: BuildError, work: Path) -> BuildError:
    """Return an error of a build with what the canary says of it."""
    canary = read(work)
    if canary is None or not canary.failed:
        return error
    return BuildError(f"{canary.text}\n{error}", hint=error.hint)


def install(link: Path, ninja: str) -> None:
    """Put a program in the place of ninja that makes the canary before it becomes ninja.

    Raises:
        OSError: It cannot be written.
    """
    words = [sys.executable, "-I", "-m", "dsv4_build.canary_ninja", ninja, str(link.parent.parent)]
    link.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
    link.chmod(0o755)


def _named(object_path: str) -> str:
    return f"{costs.family_of(object_path)} ({costs.name_of(object_path)})"
