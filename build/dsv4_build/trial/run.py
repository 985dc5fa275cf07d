"""Running the child in the interpreter that was built for, and reading what it says."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsv4_doctor.process import ProcessError, run

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_INSIDE = Path(__file__).with_name("inside")
_PACKAGE = "dsv4_trial"

# Gives the child its package without putting the doctor's site-packages on the path.
_BOOTSTRAP = f"""
import json, sys, types
package = types.ModuleType({_PACKAGE!r})
package.__path__ = [sys.argv[1]]
sys.modules[{_PACKAGE!r}] = package
from {_PACKAGE}.child import main
main(json.loads(sys.argv[2]))
"""

# As in inside/child.py, which cannot be imported where it is not a child.
_MARK = "dsv4-trial "

# Lines of a child that died which its report repeats.
_TAIL = 3


@dataclass(frozen=True)
class Module:
    """An extension module to load.

    Attributes:
        name: As in ``PyInit_NAME``.
        path: Its file.
        label: What it is called here, where two have one name.
    """

    name: str
    path: str
    label: str = ""

    @property
    def key(self) -> str:
        """What it is called here."""
        return self.label or self.name


@dataclass(frozen=True)
class Case:
    """A kernel to run against a reference.

    Attributes:
        feature: What it is a part of.
        module: Name of the module that has it.
        function: ``FILE:FUNCTION`` among the modules of ``inside``.
    """

    name: str
    feature: str
    module: str
    function: str


@dataclass(frozen=True)
class Spec:
    """What a child does.

    Attributes:
        torch: Whether torch is imported first.
        lazy: Whether functions that a module lacks matter only when they are called.
    """

    modules: tuple[Module, ...]
    cases: tuple[Case, ...] = ()
    torch: bool = False
    lazy: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the argument of the child."""
        return {
            "modules": [
                {"name": each.name, "path": each.path, "key": each.key} for each in self.modules
            ],
            "cases": [
                {"name": each.name, "module": each.module, "function": each.function}
                for each in self.cases
            ],
            "torch": self.torch,
            "lazy": self.lazy,
        }


@dataclass(frozen=True)
class Outcome:
    """What became of a module or a case.

    Attributes:
        problem: Why it did not work, empty when it did or was not reached.
        done: Whether it came to its end, well or badly.
        error: Largest absolute error of a case.
        tolerance: How large it may be.
        seconds: Wall time of a case.
    """

    name: str
    problem: str = ""
    done: bool = True
    error: float | None = None
    tolerance: float | None = None
    seconds: float | None = None


def run_child(
    python: str, spec: Spec, *, limit: float, env: Mapping[str, str] | None = None
) -> tuple[Outcome, ...]:
    """Run a child and return an outcome for each module and each case, in order.

    A child that dies or runs over its limit has a problem with what it was at; what comes after
    that is not done.

    Args:
        limit: Seconds for all of it.
        env: Variables on top of the caller's.
    """
    argv = [python, "-I", "-c", _BOOTSTRAP, str(_INSIDE), json.dumps(spec.to_json())]
    names = [*(each.key for each in spec.modules), *(each.name for each in spec.cases)]
    try:
        done = run(argv, limit=limit, env=env)
    except ProcessError as error:
        # What it printed until then is lost, so that the first thing is as good a name as any.
        return _after_death({}, names, str(error))
    told = _read(done.stdout.splitlines())
    if done.ok:
        return tuple(told.get(name, Outcome(name, done=False)) for name in names)
    how = f"exit status {done.returncode}" if done.returncode > 0 else f"signal {-done.returncode}"
    last = [line.strip() for line in done.stderr.splitlines() if line.strip()][-_TAIL:]
    return _after_death(told, names, "; ".join([f"the process died with {how}", *last]))


def _read(lines: Iterable[str]) -> dict[str, Outcome]:
    told: dict[str, Outcome] = {}
    for line in lines:
        if not line.startswith(_MARK):
            continue
        event = json.loads(line.removeprefix(_MARK))
        if "end" in event:
            told[event["end"]] = Outcome(
                event["end"],
                event["problem"],
                error=event.get("error"),
                tolerance=event.get("tolerance"),
                seconds=event.get("seconds"),
            )
    return told


def _after_death(
    told: Mapping[str, Outcome], names: Sequence[str], problem: str
) -> tuple[Outcome, ...]:
    found: list[Outcome] = []
    blamed = False
    for name in names:
        if name in told:
            found.append(told[name])
        elif blamed:
            found.append(Outcome(name, done=False))
        else:
            found.append(Outcome(name, problem))
            blamed = True
    return tuple(found)
