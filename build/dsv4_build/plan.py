"""The plan of a build: every decision with its reason, before anything is done."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dsv4_build.version import expected

if TYPE_CHECKING:
    from dsv4_build.caching.choice import Cache
    from dsv4_build.choices import Choices
    from dsv4_build.environment import Environment
    from dsv4_build.scope import Scope
    from dsv4_build.sources.isolation import Isolation
    from dsv4_build.sources.supply import Supply
    from dsv4_build.tree import Tree
    from dsv4_build.trial.run import Case
    from dsv4_build.view import View
    from dsv4_doctor.snapshot import Snapshot

SCHEMA = "dsv4-doctor/plan/1"


@dataclass(frozen=True)
class Step:
    """One step of a plan.

    Attributes:
        key: SHA-256 over everything that its result depends on: equal keys mean equal results.
    """

    name: str
    title: str
    key: str


@dataclass(frozen=True)
class Plan:
    """Everything that a build will do.

    Attributes:
        supply: Where git repositories come from.
        isolation: Whether the compile steps have a network.
        work: Directory that is built in.
        view: By which names the programs of the build know it, and others.
        out: Directory that the result goes to.
        cache: The compiler cache.
        canary: Whether one unit of each family is compiled before the others.
        offline: Whether nothing may be fetched.
        facts: The machine as the build will see it, for the preflight.
        gpu_tests: What is run on this machine's GPU before the result is handed over.
        wheel_dir: Directory for a wheel, empty for ``out``.
        resolution: Packages of the isolated environment, with hashes; empty for another.
    """

    tree: Tree
    scope: Scope
    choices: Choices
    environment: Environment
    supply: Supply
    isolation: Isolation
    steps: tuple[Step, ...]
    work: str
    view: View
    out: str
    facts: Snapshot
    cache: Cache
    canary: bool = False
    offline: bool = False
    gpu_tests: tuple[Case, ...] = ()
    wheel_dir: str = ""
    resolution: str = ""

    @property
    def version(self) -> str:
        """Version of the wheel."""
        return expected(
            self.tree, self.choices.toolchain.toolkit.nvcc_version or "", self.scope.archs
        )

    @property
    def destination(self) -> str:
        """Directory for what was built."""
        return self.wheel_dir or self.out

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know of how this came about."""
        return (*self.tree.notes, *self.scope.notes)

    @property
    def release(self) -> str:
        """vLLM release whose requirements hold; empty for an embedded tree."""
        return self.tree.release.name if self.tree.release is not None else ""

    def step(self, name: str) -> Step:
        """Return the step of this name."""
        return next(step for step in self.steps if step.name == name)

    def to_json(self) -> dict[str, Any]:
        """Return the plan in the schema ``dsv4-doctor/plan/1``."""
        toolchain, only = self.choices.toolchain, self.scope.only
        return {
            "schema": SCHEMA,
            "recipe": self.tree.recipe.name,
            "source": asdict(self.tree.source),
            "release": self.release,
            "version": self.version,
            "archs": [arch.sm for arch in self.scope.archs],
            "require": list(self.scope.require),
            "only": asdict(only) if only is not None else None,
            "left_out": [project.name for project in self.scope.left_out],
            "toolchain": {
                "kind": toolchain.kind,
                "root": toolchain.root,
                "nvcc": toolchain.toolkit.nvcc_version,
                "because": toolchain.because,
            },
            "compiler": asdict(self.choices.compiler),
            "python": asdict(self.choices.python),
            "tools": [asdict(tool) for tool in self.choices.tools],
            "jobs": asdict(self.choices.jobs),
            "cache": self.cache.to_json(),
            "canary": self.canary,
            "environment": asdict(self.environment),
            "git": self.supply.variables,
            "sources": self.supply.to_json(),
            "network": asdict(self.isolation) | {"isolated": self.isolation.isolated},
            "steps": [asdict(step) for step in self.steps],
            "gpu_tests": [each.name for each in self.gpu_tests],
            "work": self.work,
            "paths": asdict(self.view),
            "out": self.out,
            "wheel_dir": self.wheel_dir,
            "notes": list(self.notes),
        }


def key(*inputs: object) -> str:
    """Return a SHA-256 over values that have a form in JSON."""
    text = json.dumps(inputs, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
