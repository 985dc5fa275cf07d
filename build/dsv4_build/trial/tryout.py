"""What the engine asks of this package: units to add, and the test itself."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_build import ninja
from dsv4_build.trial import gpu, partial

if TYPE_CHECKING:
    from collections.abc import Callable

    from dsv4_build.ninja import Goals
    from dsv4_build.plan import Plan
    from dsv4_build.trial.gpu import Tried
    from dsv4_build.work import Workspace

# Modules of a narrowed build, which stay when its objects are removed.
MODULES = "trial"


def goals(plan: Plan, work: Workspace, asked: Goals) -> Goals:
    """Return what a narrowed build compiles: what was asked for, and what the test needs."""
    if not plan.gpu_tests:
        return asked
    targets = ninja.list_targets(plan.choices.tool("ninja"), work.build)
    return partial.with_bindings(asked, targets, plan.gpu_tests)


def keep_modules(plan: Plan, work: Workspace) -> None:
    """Link what a narrowed build has of the modules that are tested, beside its result.

    Raises:
        BuildError: One cannot be linked.
    """
    if not plan.gpu_tests:
        return
    targets = ninja.list_targets(plan.choices.tool("ninja"), work.build)
    partial.link(plan, work.build, targets, work.root / MODULES)


def on_gpu(plan: Plan, work: Workspace, say: Callable[[str], None]) -> tuple[Tried, ...]:
    """Run the tests of the plan, if it has any.

    Raises:
        BuildError: A kernel disagrees with its reference, or does not run.
    """
    if not plan.gpu_tests:
        return ()
    names = ", ".join(case.name for case in plan.gpu_tests)
    say(f"on this machine's GPU: {names}")
    if plan.scope.only is not None:
        modules = work.root / MODULES
        return gpu.test_modules(plan, partial.linked(modules, plan.gpu_tests))
    (wheel,) = work.result.glob("*.whl")
    with tempfile.TemporaryDirectory(prefix=".trial-", dir=work.root) as scratch:
        return gpu.test_wheel(plan, wheel, Path(scratch))
