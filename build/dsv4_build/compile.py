"""Building the whole wheel through the tree's own build backend (PEP 517), without isolation."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.requirements import InvalidRequirement, Requirement

from dsv4_build.failure import explained
from dsv4_build.process import ChildFailedError, Job, run_logged
from dsv4_doctor.errors import BuildError
from dsv4_doctor.process import ProcessError, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from dsv4_build.plan import Plan
    from dsv4_build.process import Usage
    from dsv4_build.work import Workspace

# These come from PATH, where the plan put versions that fit.
_FROM_PATH = frozenset({"cmake", "ninja"})

_INSTALLED = """
import importlib.metadata, json, sys
def version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
print(json.dumps({name: version(name) for name in sys.argv[1:]}))
"""

# Seconds for an interpreter to look into its own site-packages, on a machine that is busy.
_LIMIT = 30.0


def build_wheel(
    plan: Plan,
    work: Workspace,
    environ: Mapping[str, str],
    usage: list[Usage],
    on_line: Callable[[str], None],
) -> Path:
    """Build the wheel of the tree in the work directory and return it, as the backend wrote it.

    Args:
        plan: Tells the interpreter that is built for, and that runs the backend, and what it sees.
        environ: The whole environment of the build.
        usage: Gets what each child took.
        on_line: Takes each line of output.

    Raises:
        BuildError: The backend is not there or failed.
    """

    def runner(
        cmd: Sequence[str],
        cwd: str | None = None,
        extra_environ: Mapping[str, str] | None = None,
    ) -> None:
        directory = work.root if cwd is None else Path(cwd)
        env = {**environ, **(extra_environ or {})}
        prefix = plan.isolation.prefix
        job = Job(cmd, env, work.log, directory, prefix=prefix, view=plan.view)
        usage.append(run_logged(job, on_line))

    with _backend_errors(work.source):
        from build import ProjectBuilder  # noqa: PLC0415 - of the extra "build"

        python = plan.view.seen(plan.choices.python.executable)
        builder = ProjectBuilder(work.source, python_executable=python, runner=runner)
        return Path(builder.build("wheel", work.backend))


def require_backend(tree: Path, python: str) -> None:
    """Refuse an interpreter whose environment lacks what a tree's ``pyproject.toml`` asks for.

    Raises:
        BuildError: With the command that installs what is missing.
    """
    require_installed(python, build_requirements(tree))


def build_requirements(tree: Path) -> set[str]:
    """Return what a tree's ``pyproject.toml`` asks for.

    Raises:
        BuildError: It cannot be read.
    """
    with _backend_errors(tree):
        from build import ProjectBuilder  # noqa: PLC0415 - of the extra "build"

        return set(ProjectBuilder(tree).build_system_requires)


def installed_requirements(tree: Path, python: str) -> dict[str, str | None]:
    """Return the installed version of each build requirement of a tree, ``None`` for none.

    Raises:
        BuildError: The tree or the interpreter does not tell.
    """
    with _backend_errors(tree):
        from build import ProjectBuilder  # noqa: PLC0415 - of the extra "build"

        requirements = ProjectBuilder(tree, python_executable=python).build_system_requires
    return _versions(python, [each.name for each in map(_parsed, sorted(requirements))])


@contextmanager
def _backend_errors(tree: Path) -> Iterator[None]:
    try:
        from build import BuildBackendException, BuildException  # noqa: PLC0415
    except ImportError as error:
        msg = "building a wheel needs PyPA's build"
        raise BuildError(msg, hint="install dsv4-doctor[build]") from error
    try:
        yield
    except BuildBackendException as error:
        if isinstance(error.exception, ChildFailedError):
            raise explained(error.exception) from error
        if isinstance(error.exception, BuildError):
            raise error.exception from error  # What this project says while the backend runs.
        msg = f"the build backend of {tree} failed: {error}"
        raise BuildError(msg) from error
    except BuildException as error:
        msg = f"{tree} cannot be built: {error}"
        raise BuildError(msg) from error


def require_installed(python: str, requirements: Iterable[str]) -> None:
    """Refuse an interpreter whose environment does not meet requirements.

    Raises:
        BuildError: With the command that installs what is missing.
    """
    wanted = [each for each in map(_parsed, sorted(requirements)) if _matters(each)]
    found = _versions(python, [each.name for each in wanted])
    missing = [each for each in wanted if not _satisfied(each, found.get(each.name))]
    if missing:
        names = ", ".join(
            f"{each} ({'has ' + (found[each.name] or '') if found[each.name] else 'not installed'})"
            for each in missing
        )
        msg = f"{python} lacks what the tree needs to be built: {names}"
        quoted = " ".join(f"'{each}'" for each in missing)
        hint = f"{python} -m pip install {quoted}; or --python names another environment"
        raise BuildError(msg, hint=hint)


def _parsed(text: str) -> Requirement:
    try:
        return Requirement(text)
    except InvalidRequirement as error:
        msg = f"the tree's pyproject.toml asks for {text!r}, which is no requirement"
        raise BuildError(msg) from error


def _matters(requirement: Requirement) -> bool:
    if requirement.name in _FROM_PATH:
        return False
    return requirement.marker is None or requirement.marker.evaluate()


def _satisfied(requirement: Requirement, version: str | None) -> bool:
    return version is not None and requirement.specifier.contains(version, prereleases=True)


def _versions(python: str, names: Sequence[str]) -> dict[str, str | None]:
    try:
        done = run([python, "-I", "-c", _INSTALLED, *names], limit=_LIMIT)
        found: dict[str, str | None] = json.loads(done.stdout) if done.ok else {}
    except (ProcessError, ValueError) as error:
        msg = f"{python} does not tell what is installed: {error}"
        raise BuildError(msg) from error
    if not done.ok:
        msg = f"{python} does not tell what is installed: {done.stderr.strip()}"
        raise BuildError(msg)
    return found
