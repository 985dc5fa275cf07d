"""Building parts of a tree through its own CMake, without ``setup.py``."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_build import canary, ninja
from dsv4_build.answers import answer
from dsv4_build.failure import explained
from dsv4_build.process import ChildFailedError, Job, run_logged
from dsv4_doctor.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dsv4_build.canary import Canary
    from dsv4_build.ninja import Goals, Targets
    from dsv4_build.plan import Plan
    from dsv4_build.process import Usage
    from dsv4_build.work import Workspace

# Seconds; the interpreter answers at once.
_LIMIT = 60.0


@dataclass(frozen=True)
class Parts:
    """Builds parts of the tree of a plan.

    Attributes:
        environ: The whole environment of the build.
        usage: Gets what each child took.
        on_line: Takes each line of output.
    """

    plan: Plan
    work: Workspace
    environ: Mapping[str, str]
    usage: list[Usage]
    on_line: Callable[[str], None]

    def configure(self) -> None:
        """Run the tree's own CMake.

        Raises:
            BuildError: It failed.
        """
        self._run(self.configure_command())

    def configure_command(self) -> list[str]:
        """Return the command that configures the tree."""
        plan, choices = self.plan, self.plan.choices
        recipe, jobs = plan.tree.recipe, choices.jobs.window
        seen = plan.view.seen
        python = choices.python.executable
        values = {"python": seen(python), "deps": seen(str(self.work.deps))}
        if any("{python_path}" in argument for argument in recipe.configure):
            values["python_path"] = ":".join(map(seen, _python_path(python)))
        return [
            choices.tool("cmake"),
            *("-S", seen(str(self.work.source)), "-B", seen(str(self.work.build)), "-G", "Ninja"),
            f"-DCMAKE_BUILD_TYPE={recipe.build_type}",
            f"-DCMAKE_MAKE_PROGRAM={choices.tool('ninja')}",
            f"-DCMAKE_CUDA_COMPILER={seen(choices.toolchain.root)}/bin/nvcc",
            "-DCMAKE_JOB_POOL_COMPILE:STRING=compile",
            f"-DCMAKE_JOB_POOLS:STRING=compile={jobs}",
            *(argument.format_map(values) for argument in recipe.configure),
        ]

    def goals(self) -> Goals:
        """Return what ninja has to build for the request.

        Raises:
            UsageError: The tree has no such unit or component.
            BuildError: Ninja does not list its targets.
        """
        narrowed = self.plan.scope.only
        if narrowed is None:
            msg = "the plan is for the whole tree"
            raise BuildError(msg)
        return ninja.goals(self._targets(), narrowed)

    def _targets(self) -> Targets:
        return ninja.list_targets(self.plan.choices.tool("ninja"), self.work.build)

    def canary(self, goals: Goals) -> Canary:
        """Build one unit of each family that the goals have.

        Raises:
            BuildError: One does not compile.
        """
        whole = [unit for unit in self._targets().units if unit.component in goals.modules]
        units = canary.choose([*goals.units, *whole])
        try:
            self._ninja("-k", "0", *units)
        except BuildError as error:
            canary.write(canary.outcome(units, self.work.build), self.work.root)
            raise canary.explained(error, self.work.root) from error
        return canary.outcome(units, self.work.build)

    def compile(self, goals: Goals) -> None:
        """Build the goals.

        Raises:
            BuildError: A compiler failed.
        """
        self._ninja(*goals.targets)

    def collect(self, goals: Goals) -> tuple[str, ...]:
        """Copy what was built to the result directory and return the names there.

        An object keeps the path of its source, below its component.

        Raises:
            BuildError: Something that ninja built is not there.
        """
        places = {unit.object: f"{unit.component}/{unit.source}.o" for unit in goals.units}
        places |= {module: Path(module).name for module in goals.modules.values()}
        try:
            for built, name in places.items():
                target = self.work.result / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(self.work.build / built, target)
        except OSError as error:
            msg = f"what was built cannot be collected: {error}"
            raise BuildError(msg) from error
        return tuple(sorted(places.values()))

    def _ninja(self, *arguments: str) -> None:
        jobs = str(self.plan.choices.jobs.window)
        program = self.plan.choices.tool("ninja")
        build = self.plan.view.seen(str(self.work.build))
        self._run([program, "-C", build, "-j", jobs, *arguments])

    def _run(self, argv: list[str]) -> None:
        job = Job(
            argv,
            self.environ,
            self.work.log,
            self.work.root,
            prefix=self.plan.isolation.prefix,
            view=self.plan.view,
        )
        try:
            self.usage.append(run_logged(job, self.on_line))
        except ChildFailedError as error:
            raise explained(error) from error


def _python_path(python: str) -> list[str]:
    argv = [python, "-I", "-c", "import sys; print('\\n'.join(sys.path))"]
    return answer(argv, f"{python} does not tell its module path", limit=_LIMIT).splitlines()
