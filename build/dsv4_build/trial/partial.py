"""Linking a module from the units that a narrowed build has, so that its kernels can be run.

The tree's own link command is used, with the objects that exist. Functions of the others stay
undefined: they are looked up only when they are called, which the test does not do.
"""

from __future__ import annotations

import shlex
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

from dsv4_build.answers import answer
from dsv4_build.trial.run import Module
from dsv4_doctor.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from dsv4_build.ninja import Goals, Targets
    from dsv4_build.plan import Plan
    from dsv4_build.trial.run import Case

# Seconds to link the objects of a few units: the largest module whole takes less than ten.
LIMIT = 120.0

_CUDA = ".cu"

# Distributions set "now" and "defs" by default, which are the opposite.
_LAZY = ("-Wl,-z,lazy", "-Wl,-z,undefs")


def with_bindings(goals: Goals, targets: Targets, cases: Iterable[Case]) -> Goals:
    """Return goals that also have the host code of every module that is tested.

    That registers the operators and launches the kernels; it costs seconds a unit, not minutes.
    """
    modules = {case.module for case in cases} - set(goals.modules)
    bindings = [
        unit
        for unit in targets.units
        if unit.component in modules and not unit.source.endswith(_CUDA)
    ]
    return replace(goals, units=tuple(dict.fromkeys([*goals.units, *bindings])))


def link(plan: Plan, build: Path, targets: Targets, target: Path) -> None:
    """Put a module for each one that is tested into a directory: the whole one if it was built.

    Args:
        build: Directory that CMake built in.

    Raises:
        BuildError: One cannot be linked.
    """
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    ninja = plan.choices.tool("ninja")
    for name in dict.fromkeys(case.module for case in plan.gpu_tests):
        module = targets.modules[name]
        if (build / module).is_file():
            shutil.copyfile(build / module, target / name)
            continue
        argv = partial_command(_command(ninja, build, module), build, target / name)
        # Its libraries are named as the programs of the build see them.
        failing = f"{name} cannot be linked from the units that were built"
        answer(plan.view.enter(argv), failing, limit=LIMIT, cwd=str(build))


def linked(directory: Path, cases: Iterable[Case]) -> tuple[Module, ...]:
    """Return the modules that :func:`link` made."""
    names = dict.fromkeys(case.module for case in cases)
    return tuple(Module(name, str(directory / name)) for name in names)


def partial_command(command: str, build: Path, target: Path) -> list[str]:
    """Return a link command without the objects that do not exist.

    Args:
        command: As ``ninja -t commands`` prints it, with what CMake puts around it.
        target: What it writes instead.

    Raises:
        BuildError: It is no link command of a module.
    """
    linkers = [part.split() for part in _parts(command) if " -shared " in part]
    if not linkers:
        msg = f"no link command of a module: {command[:200]}"
        raise BuildError(msg)
    words = shlex.split(" ".join(linkers[-1]))
    kept: list[str] = []
    for before, word in zip(["", *words], words, strict=False):
        if before == "-o":
            kept.append(str(target))
        elif not word.endswith(".o") or (build / word).is_file():
            kept.append(word)
    return [*kept, *_LAZY]


def _parts(command: str) -> Sequence[str]:
    return [part.strip() for part in command.split("&&")]


def _command(ninja: str, build: Path, module: str) -> str:
    argv = [ninja, "-C", str(build), "-t", "commands", "-s", module]
    return answer(argv, "ninja does not tell how a module is linked", limit=LIMIT)
