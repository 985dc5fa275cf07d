"""The lock of a build: everything that its result depends on, in a file to keep with a project.

The same inputs give the same bytes of it, on every machine: what is a machine's own (its
directories, the number of jobs) is not in it.
"""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dsv4_build.environment import LAUNCHING, WORK, policy
from dsv4_build.sources import resolution
from dsv4_build.sources.git import COMMIT
from dsv4_build.sources.model import LeftOut, Pin  # noqa: TC001 - a lock is read by its types
from dsv4_build.sources.resolution import Package
from dsv4_doctor.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from dsv4_build.plan import Plan

SCHEMA = "dsv4-doctor/lock/1"
NAME = "dsv4-build.lock"

# Largest that is read, in bytes: a thousand packages with twenty hashes each.
_LARGEST = 8 << 20

TOOLCHAIN = "{toolchain}"
# What only says how fast this machine builds, and where it keeps its programs.
_NOT_IN_RESULT = {"git"}
_OF_THE_MACHINE = frozenset({"PATH", "MAX_JOBS"})


@dataclass(frozen=True)
class LockedTree:
    """What is built; ``sha256`` is the digest of the sdist, or over the files of a checkout."""

    recipe: str
    release: str
    version: str
    kind: str
    sha256: str


@dataclass(frozen=True)
class LockedToolchain:
    """What it is built with.

    Attributes:
        parts: The wheels of a toolkit from PyPI; empty for a toolkit of the machine.
        compiler: Name and version of the host compiler.
        tools: Name and version of cmake and ninja, when they are not among the packages.
    """

    kind: str
    nvcc: str
    parts: tuple[Package, ...]
    compiler: str
    tools: dict[str, str]


@dataclass(frozen=True)
class Lock:
    """Everything that the result of a build depends on.

    Attributes:
        python: ``major.minor`` that is built for.
        machine: As ``uname -m``.
        packages: The build requirements; empty when ``--python`` named an environment.
        variables: What the build sets, with the value; ``None`` for what is each machine's own.
        kept: Names and patterns of what it takes over from its caller; all else is removed.
    """

    tree: LockedTree
    archs: tuple[str, ...]
    sources: tuple[Pin, ...]
    left_out: tuple[LeftOut, ...]
    python: str
    machine: str
    packages: tuple[Package, ...]
    toolchain: LockedToolchain
    variables: dict[str, str | None]
    kept: tuple[str, ...]

    def to_text(self) -> str:
        """Return it as JSON, always in the same form."""
        return json.dumps({"schema": SCHEMA, **asdict(self)}, indent=1, sort_keys=True) + "\n"

    @property
    def requirements(self) -> str:
        """The build requirements as a requirements file."""
        return resolution.render(self.packages)


def of_plan(plan: Plan, requirements: str) -> Lock:
    """Return the lock of a planned build.

    Args:
        requirements: The resolution of its environment, empty for one that was named.
    """
    choices, supply = plan.choices, plan.supply
    source = plan.tree.source
    packages = resolution.packages(requirements, NAME)
    return Lock(
        tree=LockedTree(
            plan.tree.recipe.name, plan.release, source.version, source.kind, source.digest
        ),
        archs=tuple(arch.sm for arch in plan.scope.archs),
        sources=supply.resolved.pins,
        left_out=supply.resolved.left_out,
        python=".".join(choices.python.version.split(".")[:2]),
        machine=platform.machine(),
        packages=packages,
        toolchain=_toolchain(plan, {each.name for each in packages}),
        variables=_variables(plan),
        kept=policy(),
    )


def _toolchain(plan: Plan, packaged: set[str]) -> LockedToolchain:
    choices = plan.choices
    chosen = choices.toolchain
    selection = chosen.selection
    parts = selection.parts if selection is not None else ()
    machine = selection.machine if selection is not None else ""
    return LockedToolchain(
        kind=chosen.kind,
        nvcc=chosen.toolkit.nvcc_version or "",
        parts=tuple(Package(each.name, each.version, (each.sha256[machine],)) for each in parts),
        compiler=choices.compiler.name,
        tools={
            tool.name: tool.version or ""
            for tool in choices.tools
            if tool.name not in packaged | _NOT_IN_RESULT
        },
    )


def _variables(plan: Plan) -> dict[str, str | None]:
    places = {plan.work: WORK, plan.choices.toolchain.root: TOOLCHAIN}
    found: dict[str, str | None] = {}
    for variable in plan.environment.set:
        if variable.name in LAUNCHING:
            continue
        value = variable.value
        for place, name in places.items():
            value = value.replace(place, name)
        found[variable.name] = None if variable.name in _OF_THE_MACHINE else value
    return dict(sorted(found.items()))


def read(path: Path) -> Lock:
    """Read a lock.

    Raises:
        InputError: It cannot be read, or is none.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except OSError as error:
        msg = f"{path}: {error.strerror or error}"
        raise InputError(msg) from error
    return parse(content, str(path))


def parse(content: bytes, path: str) -> Lock:
    """Read the bytes of a lock.

    Raises:
        InputError: They are none.
    """
    from dacite import Config, DaciteError, from_dict  # noqa: PLC0415 - only a lock needs it

    try:
        data = json.loads(content) if len(content) <= _LARGEST else None
        schema = data.pop("schema", None) if isinstance(data, dict) else None
        if schema != SCHEMA:
            msg = f"{path}: no lock of a build: its schema is {schema!r}, not {SCHEMA}"
            raise InputError(msg)
        found = from_dict(Lock, _tuples(data), Config(check_types=True, strict=True))
    except (DaciteError, TypeError, ValueError, AttributeError, RecursionError) as error:
        msg = f"{path}: no readable lock of a build: {error}"
        raise InputError(msg) from error
    _require_ids(found, path)
    return found


def _require_ids(found: Lock, path: str) -> None:
    for pin in found.sources:
        if not COMMIT.fullmatch(pin.commit) or not COMMIT.fullmatch(pin.tree):
            msg = f"{path}: {pin.name} has no whole commit and tree"
            raise InputError(msg)
    if resolution.packages(found.requirements, path) != found.packages:
        msg = f"{path}: its packages are not in the form that is written"
        raise InputError(msg)


def _tuples(data: Any) -> Any:
    # JSON has lists where the dataclasses have tuples.
    if isinstance(data, dict):
        return {key: _tuples(value) for key, value in data.items()}
    return tuple(_tuples(each) for each in data) if isinstance(data, list) else data
