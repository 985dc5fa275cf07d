"""The container engines behind one seam: build a context into an OCI layout, load it, push it."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from dsv4_doctor.errors import BuildError, UsageError
from dsv4_doctor.process import ProcessError, run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from dsv4_build.image.request import Base

_LOOK = 10.0

TARGET = "runtime"
DOCKERFILE = "docker/Dockerfile"


@dataclass(frozen=True)
class Task:
    """What is to be built.

    Attributes:
        context: Directory.
        args: Build arguments, apart from the base.
        epoch: Time of everything in the image, in seconds.
        cached: Whether steps of an earlier build may be taken over.
        log: File for the engine's output.
    """

    context: Path
    base: Base
    args: Mapping[str, str]
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    epoch: int
    cached: bool
    log: Path
    on_line: Callable[[str], None] | None = None


class Engine(Protocol):
    """A container engine."""

    @property
    def name(self) -> str:
        """As ``--engine`` has it."""

    def build(self, task: Task, layout: Path) -> None:
        """Build the image into an OCI layout, which must not exist.

        Raises:
            ChildFailedError: It failed.
        """

    def load(self, layout: Path, reference: str, log: Path) -> None:
        """Give the image a name in the engine's own storage.

        Raises:
            ChildFailedError: It failed.
        """

    def push(self, task: Task, layout: Path, reference: str) -> str:
        """Push the image to the registry of its name, and return the digest that it has there.

        Raises:
            ChildFailedError: The registry refused.
        """


@dataclass(frozen=True)
class Candidate:
    """An engine that could be there.

    Attributes:
        install: How to get it.
        asks: Commands that all have to succeed for it to be usable.
    """

    name: str
    install: str
    asks: tuple[tuple[str, ...], ...]

    def refusal(self) -> str:
        """Return why it cannot be used, empty when it can."""
        for argv in self.asks:
            if shutil.which(argv[0]) is None:
                return f"{argv[0]} is not installed"
            try:
                done = run(argv, limit=_LOOK)
            except ProcessError as error:
                return str(error)
            if not done.ok:
                last = (done.stderr or done.stdout).strip().splitlines()
                return f"`{' '.join(argv)}`: {last[-1] if last else f'status {done.returncode}'}"
        return ""


CANDIDATES = (
    Candidate(
        "docker",
        "Docker Engine with buildx: https://docs.docker.com/engine/install/",
        (("docker", "buildx", "version"), ("docker", "version", "--format", "{{.Server.Version}}")),
    ),
    Candidate(
        "podman", "apt-get install podman, or dnf install podman", (("podman", "--version"),)
    ),
    Candidate(
        "buildah", "apt-get install buildah, or dnf install buildah", (("buildah", "--version"),)
    ),
)


def find(wish: str | None) -> str:
    """Return the engine that was wished for, or the first that can be used.

    Raises:
        UsageError: There is no engine of this name.
        BuildError: It cannot be used, or none can.
    """
    known = {each.name: each for each in CANDIDATES}
    if wish is not None and wish not in known:
        msg = f"--engine {wish}: unknown; known: {', '.join(known)}"
        raise UsageError(msg)
    asked = CANDIDATES if wish is None else (known[wish],)
    refused: list[str] = []
    for each in asked:
        why = each.refusal()
        if not why:
            return each.name
        refused.append(f"  {each.name}: {why}")
    what = "no container engine can be used here" if wish is None else f"{wish} cannot be used here"
    install = "\n  ".join(each.install for each in asked)
    raise BuildError("\n".join((what, *refused)), hint=f"one of these would do:\n  {install}")


def make(name: str) -> Engine:
    """Return an engine by its name."""
    if name == "docker":
        from dsv4_build.image.buildx import Buildx  # noqa: PLC0415 - the one that is used

        return Buildx()
    from dsv4_build.image.containers import Containers  # noqa: PLC0415

    return Containers(name)


def environment(epoch: int) -> dict[str, str]:
    """Return the environment of an engine."""
    return {**os.environ, "LC_ALL": "C", "SOURCE_DATE_EPOCH": str(epoch)}


def options(name: str, values: Mapping[str, str]) -> list[str]:
    """Return a repeated option, in one order."""
    return [part for key in sorted(values) for part in (name, f"{key}={values[key]}")]


_OURS = re.compile(r"(?:^|\s)dsv4-image: (.*)")
_FULL = re.compile(r"no space left on device", re.IGNORECASE)
_REFUSED = re.compile(
    r"denied|unauthorized|authentication required|\b40[13]\b|forbidden", re.IGNORECASE
)
_NOT_HERE = re.compile(r"crun|runc|cgroup|namespace.*not permitted", re.IGNORECASE)
_NO_EXPORTER = re.compile(
    r"(?:OCI exporter|exporter).*not supported|not supported for the docker driver"
)


def way_out(lines: Sequence[str]) -> tuple[str, str]:
    """Return what an engine's last lines say in our own words, and the way out, as far as known."""
    for line in lines:
        if match := _OURS.search(line):
            return match[1].partition("; ")[0], match[1].partition("; ")[2]
    text = "\n".join(lines)
    if _FULL.search(text):
        return (
            "the disk of the engine's storage is full",
            "free some space there, or move its storage",
        )
    if _REFUSED.search(text):
        return (
            "the registry refused",
            "log in there first: docker, podman or buildah login REGISTRY",
        )
    if _NO_EXPORTER.search(text):
        return "", "docker buildx create --use makes a builder that can do this"
    if _NOT_HERE.search(text):
        return "", "inside a container or without cgroups v2: BUILDAH_ISOLATION=chroot"
    return "", ""
