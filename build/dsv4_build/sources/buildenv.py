"""An isolated environment with what a tree needs to be built, and nothing else.

It is named by its resolution: equal names have equal packages, file by file.
"""

from __future__ import annotations

import platform
import shutil
import sys
import tempfile
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_build import recipe as recipes
from dsv4_build import sdist
from dsv4_build.cache import locked
from dsv4_build.compile import build_requirements
from dsv4_build.process import ChildFailedError, Job, run_logged
from dsv4_build.source import ZIP_EPOCH
from dsv4_build.sources import resolution
from dsv4_build.sources.resolution import Wanted
from dsv4_doctor.errors import BuildError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dsv4_build.source import Source
    from dsv4_build.tree import Tree

# Two gigabytes of torch and its libraries, at half a megabyte a second.
_LIMIT = 7200.0
_COMPLETE = ".complete"


@dataclass(frozen=True)
class Terms:
    """How build requirements are resolved.

    Attributes:
        until: As ``--exclude-newer``; ``None`` for the time of the tree.
        locked_to: The resolution of a lock, instead of asking the index.
        ask: Whether the index may be asked.
    """

    until: str | None = None
    locked_to: str = ""
    ask: bool = True


@dataclass(frozen=True)
class BuildEnvironment:
    """An environment, made or not.

    Attributes:
        place: Its directory.
        resolution: The requirements file that it is made from.
        base: The interpreter that it is made with.
    """

    place: Path
    resolution: str
    base: str

    @property
    def python(self) -> str:
        """Its interpreter."""
        return str(self.place / "bin" / "python")

    @property
    def made(self) -> bool:
        """Whether it is there, with everything."""
        return (self.place / _COMPLETE).is_file()

    @property
    def because(self) -> str:
        """What it is, for a plan."""
        count = len(resolution.packages(self.resolution, str(self.place)))
        return f"an isolated environment of {count} packages, each with its hash"


def requirements(source: Source) -> tuple[str, ...]:
    """Return what a tree's ``pyproject.toml`` asks for.

    Raises:
        InputError: It has none, or it cannot be read.
        BuildError: It is none.
    """
    text = _pyproject(source)
    with tempfile.TemporaryDirectory() as name:
        Path(name, "pyproject.toml").write_text(text, encoding="utf-8")
        return tuple(sorted(build_requirements(Path(name))))


def _pyproject(source: Source) -> str:
    if source.kind == "sdist":
        return sdist.text(Path(source.path), "pyproject.toml")
    directory = recipes.tree(source.path) if source.kind == "recipe" else Path(source.path)
    try:
        return (directory / "pyproject.toml").read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        msg = f"{directory}: cannot be read: {error}"
        raise InputError(msg) from error


def newest(source: Source) -> str:
    """Return the time up to which packages count for a tree: the day after it was made.

    What its authors built it with was there then, and what came later changes nothing.
    """
    if source.epoch <= ZIP_EPOCH:
        return ""
    made = datetime.fromtimestamp(source.epoch, timezone.utc)
    return f"{(made + timedelta(days=1)).date().isoformat()}T00:00:00Z"


def planned(
    tree: Tree,
    cache: Path,
    say: Callable[[str], None],
    terms: Terms,
) -> BuildEnvironment | None:
    """Return the environment that a tree needs; it may not be made yet.

    ``None`` is returned when the index would have to be asked and may not be.

    Raises:
        BuildError: The requirements cannot be resolved.
        InputError: The tree has no readable ``pyproject.toml``.
    """
    answer = terms.locked_to
    if not answer:
        wanted = Wanted(
            requirements=requirements(tree.source),
            python=sys.executable,
            version=platform.python_version(),
            machine=platform.machine(),
            newest=newest(tree.source) if terms.until is None else terms.until,
        )
        directory = cache / "sources" / "resolutions"
        if not terms.ask and not resolution.known(wanted, directory):
            return None
        answer = resolution.resolve(wanted, directory, resolution.variables(), say)
    minor = ".".join(platform.python_version_tuple()[:2])
    name = f"py{minor}-{platform.machine()}-{resolution.digest(answer)[:16]}"
    return BuildEnvironment(cache / "environments" / name, answer, sys.executable)


def make(environment: BuildEnvironment, say: Callable[[str], None]) -> None:
    """Make an environment when it is not there. Two processes take turns.

    Raises:
        BuildError: A package could not be had, or its hash differs.
    """
    place = environment.place
    lock = place.with_name(f".{place.name}.lock")
    with locked(lock, on_wait=lambda: say(f"waiting for another process that makes {place}")):
        if environment.made:
            return
        try:
            # A venv knows its own place, so that it is made there; the mark comes last.
            shutil.rmtree(place, ignore_errors=True)
            place.parent.mkdir(parents=True, exist_ok=True)
            _install(environment, say)
            (place / _COMPLETE).write_text(environment.resolution, encoding="utf-8")
        except OSError as error:
            msg = f"{place}: cannot be written: {error.strerror or error}"
            raise BuildError(msg) from error


def _install(environment: BuildEnvironment, say: Callable[[str], None]) -> None:
    place = environment.place
    log = place.with_name(f"{place.name}.log")
    log.unlink(missing_ok=True)
    count = len(resolution.packages(environment.resolution, str(place)))
    say(f"installing {count} packages into {place}")
    variables = resolution.variables()
    requirements_file = place.with_name(f"{place.name}.txt")
    requirements_file.write_text(environment.resolution, encoding="utf-8")
    python = ["--python", environment.python]
    checks = ["--require-hashes", "--no-deps", "--only-binary", ":all:"]
    try:
        for command in (
            ["venv", "--python", environment.base, str(place)],
            ["pip", "install", *python, *checks, "-r", str(requirements_file)],
        ):
            run_logged(Job([*resolution.uv(), *command], variables, log, limit=_LIMIT))
    except ChildFailedError as error:
        msg = f"the build environment could not be made:\n{resolution.last_words(error)}"
        hint = (
            "without a network: make it on a connected machine with the same cache directory, "
            f"or --python of an environment that has everything. The log is in {log}"
        )
        raise BuildError(msg, hint=hint) from error
