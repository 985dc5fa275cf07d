"""A plan as text that a person reads before an hour of compiling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_build.sources import text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_build.caching.choice import Cache
    from dsv4_build.plan import Plan

_WIDTH = 13


def render(plan: Plan) -> str:
    """Return the plan as lines."""
    return "".join(f"{line}\n" for line in _lines(plan))


def _lines(plan: Plan) -> Iterator[str]:
    yield from _what(plan)
    yield from _with(plan)
    yield from _environment(plan)
    yield ""
    yield "Steps"
    for step in plan.steps:
        yield f"  {step.name:<{_WIDTH - 2}}{step.title}"
        yield f"  {'':<{_WIDTH - 2}}key {step.key[:16]}"
    yield _row("work", plan.work)
    yield _row("paths", f"{plan.view.kind}: {plan.view.because}")
    for real, seen in plan.view.names:
        yield _row("", f"{seen} is {real}")
    yield _row("result", plan.destination)
    for note in plan.notes:
        yield _row("note", note)


def _what(plan: Plan) -> Iterator[str]:
    source, scope = plan.tree.source, plan.scope
    yield _row("build", f"{plan.tree.name} from {source.kind} {source.path}")
    yield _row("", f"version {source.version or '-'}, sha256 {source.digest[:16]}")
    yield _row("for", ", ".join(arch.sm for arch in scope.archs))
    yield _row("prove", ", ".join(scope.require) or "nothing: the contents are listed")
    if plan.gpu_tests:
        yield _row("run", ", ".join(case.name for case in plan.gpu_tests))
    if scope.only is None:
        yield _row("wheel", plan.version)
    else:
        units = [str(unit) for unit in scope.only.units]
        yield _row("only", ", ".join([*units, *scope.only.components]))
    if scope.left_out:
        yield _row("left out", ", ".join(project.name for project in scope.left_out))


def _with(plan: Plan) -> Iterator[str]:
    choices = plan.choices
    toolkit = choices.toolchain.toolkit
    rows = (
        (
            "toolchain",
            f"{choices.toolchain.kind}: nvcc {toolkit.nvcc_version} in {toolkit.root}",
            choices.toolchain.because,
        ),
        ("compiler", f"{choices.compiler.name} {choices.compiler.cxx}", choices.compiler.because),
        (
            "python",
            f"{choices.python.version} {choices.python.executable}",
            choices.python.because,
        ),
        ("jobs", str(choices.jobs.count), choices.jobs.because),
        ("cache", _cache(plan.cache), plan.cache.because),
    )
    for name, value, why in rows:
        yield _row(name, value)
        yield _row("", f"because {why}")
    for tool in choices.tools:
        yield _row(tool.name, f"{tool.version} {tool.path}")


def _cache(cache: Cache) -> str:
    shared = f", shared through {cache.remote.shown}" if cache.remote is not None else ""
    return " ".join(filter(None, (cache.kind, cache.version, cache.program))) + shared


def _environment(plan: Plan) -> Iterator[str]:
    yield ""
    yield "Environment"
    for variable in plan.environment.set:
        yield f"  {variable.name}={variable.value}"
        yield f"      {variable.why}"
    for variable in plan.environment.harmful:
        yield f"  {variable.name} is removed"
        yield f"      {variable.why}"
    if plan.environment.unlisted:
        yield f"  removed, too: {', '.join(plan.environment.unlisted)}"
        yield "      a build gets only what is listed"
    yield from _sources(plan)


def _sources(plan: Plan) -> Iterator[str]:
    supply = plan.supply
    yield ""
    yield "Sources"
    if supply.mirror:
        yield f"  {len(supply.variables)} GIT_CONFIG_* variables send git to {supply.mirror}"
    yield from text.resolved(supply.resolved)
    yield _row("network", str(plan.isolation))


def _row(name: str, value: str) -> str:
    return f"{name:<{_WIDTH}}{value}".rstrip()
