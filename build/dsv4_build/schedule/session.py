"""The server around a build: started before ninja, ended after it, and what was learned kept."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_build.schedule import launcher, learned
from dsv4_build.schedule.events import FILE, Events
from dsv4_build.schedule.server import Server, Settings
from dsv4_doctor.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dsv4_build.choices import Jobs

# Directory below the work directory with the launcher: its path is part of every command that
# ninja remembers, so that it has to be the same in every run.
DIRECTORY = "schedule"

_LONGEST = 80

# What was learned in this build, beside its diary.
COSTS = "schedule-costs.json"


@dataclass(frozen=True)
class Place:
    """Where a build is scheduled.

    Attributes:
        work: The work directory.
        cache: The cache's root, where costs are kept.
        tree: Name of the recipe.
        archs: Architectures that are built for, which costs depend on.
        nvcc: Version of nvcc, likewise.
        seen: Tells the name that the build sees a path by.
        compiler_cache: What stands between the launcher and a compiler.
    """

    work: Path
    cache: Path
    tree: str
    archs: Sequence[str]
    nvcc: str
    seen: Callable[[str], str] = str
    compiler_cache: Sequence[str] = ()


@contextmanager
def scheduled(
    place: Place, cores: int, jobs: Jobs, say: Callable[[str], None]
) -> Iterator[dict[str, str]]:
    """Schedule the compilers that are started inside; yields the variables that they need.

    Args:
        cores: Processors.
        jobs: How many at a time.
        say: Takes what a person should know.

    Raises:
        BuildError: The server cannot be started, or broke.
    """
    kept = learned.place(place.cache, place.tree, place.archs, place.nvcc)
    settings = Settings(cores, jobs.count, jobs.window, place.tree, learned.load(kept))
    # A socket's path may have 107 characters; that of a work directory may have more.
    usual = tempfile.gettempdir()
    short = usual if len(usual) < _LONGEST else "/tmp"  # noqa: S108 - the directory is our own
    with tempfile.TemporaryDirectory(prefix="dsv4-", dir=short) as directory:
        socket = Path(directory) / "schedule"
        try:
            events = Events(place.work / FILE)
            command = list(map(place.seen, install(place.work / DIRECTORY)))
            server = Server(socket, settings, events, say)
        except OSError as error:
            msg = f"the compilers cannot be scheduled: {error}"
            raise BuildError(msg, hint="--no-schedule builds without it") from error
        server.start()
        try:
            yield _variables([*command, *place.compiler_cache], socket)
        finally:
            server.stop()
            events.close()
            _keep(server, place.work / COSTS, kept, say)
    if server.error is not None:
        msg = f"the server that schedules compilers broke: {server.error!r}"
        raise BuildError(msg, hint="--no-schedule builds without it") from server.error


def install(directory: Path) -> list[str]:
    """Put the launcher where it can be started from and return its command."""
    directory.mkdir(parents=True, exist_ok=True)
    program, python = directory / "launcher.py", directory / "python"
    shutil.copyfile(Path(launcher.__file__), program)
    python.unlink(missing_ok=True)
    python.symlink_to(os.path.realpath(sys.executable))
    return [str(python), "-I", "-S", str(program)]


def _variables(command: Sequence[str], socket: Path) -> dict[str, str]:
    launch = ";".join(command)
    languages = ("C", "CXX", "CUDA")
    variables = {f"CMAKE_{language}_COMPILER_LAUNCHER": launch for language in languages}
    # vLLM's setup.py gives CMake launchers of its own when it finds ccache or sccache; what stands
    # in CMAKE_ARGS comes after them and wins (vLLM 0.24.0, setup.py:203-266).
    # It is split at blanks.
    if len(launch.split()) == 1:
        arguments = " ".join(f"-D{name}={value}" for name, value in variables.items())
        variables["CMAKE_ARGS"] = arguments
    return {**variables, launcher.VARIABLE: str(socket)}


def _keep(server: Server, costs: Path, kept: Path, say: Callable[[str], None]) -> None:
    try:
        learned.write(costs, {**learned.load(costs).units, **server.learned})
        learned.add(kept, server.learned)
    except (OSError, BuildError) as error:
        say(f"what was learned of compile costs is not kept: {error}")
    if not server.count:
        say("no compiler asked to be scheduled: nothing had to be compiled, or not through CMake")
