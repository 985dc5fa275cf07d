"""From a request and the facts of a machine to a plan. Nothing is written and nothing is built."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from dsv4_build import choices, environment, git_mirror, scope
from dsv4_build.caching import choice as caching
from dsv4_build.plan import Plan, Step, key
from dsv4_build.seen import as_planned
from dsv4_build.source import ZIP_EPOCH
from dsv4_build.tree import open_tree
from dsv4_doctor import __version__

if TYPE_CHECKING:
    from pathlib import Path

    from dsv4_build.choices import Choices
    from dsv4_build.request import BuildRequest, Surroundings
    from dsv4_build.scope import Scope
    from dsv4_build.source import Source
    from dsv4_build.tree import Tree
    from dsv4_doctor.snapshot import Snapshot


def make_plan(request: BuildRequest, snapshot: Snapshot, around: Surroundings) -> Plan:
    """Decide everything.

    Raises:
        UsageError: The request names what does not exist or does not fit together.
        InputError: The source tree or the git mirror cannot be read.
        BuildError: The machine lacks something; the message says what, and what to do.
    """
    tree = open_tree(request)
    covered = scope.decide(request, tree, snapshot)
    chosen = choices.choose(request, tree, covered, snapshot, around)
    cache = caching.choose(request.cache, request.cache_remote, snapshot.build_tools or ())
    inputs = environment.Inputs(
        recipe=tree.recipe,
        cuda_home=chosen.toolchain.root,
        compiler=chosen.compiler,
        archs=covered.archs,
        python=chosen.python.executable,
        jobs=chosen.jobs.count,
        epoch=_epoch(tree.source, around),
        work=environment.WORK,
        cache=cache,
        version=tree.source.version,
    )
    identity = environment.plan(inputs, around.environ).identity
    if cache.identity:
        identity["cache"] = cache.identity
    steps = _steps(tree, covered, chosen, identity)
    work = request.work_dir or _work(tree, steps, around)
    planned = environment.plan(replace(inputs, work=str(work.absolute())), around.environ)
    return Plan(
        tree=tree,
        scope=covered,
        choices=chosen,
        environment=planned,
        git=_git(request, tree, around),
        steps=steps,
        work=str(work.absolute()),
        out=str(request.out.absolute()),
        facts=as_planned(snapshot, chosen, planned),
        cache=cache,
    )


def _epoch(source: Source, around: Surroundings) -> int:
    given = around.environ.get("SOURCE_DATE_EPOCH", "")
    return max(int(given), ZIP_EPOCH) if given.isdecimal() else source.epoch


def _steps(
    tree: Tree, covered: Scope, chosen: Choices, identity: dict[str, str]
) -> tuple[Step, ...]:
    narrowed = covered.only
    toolchain = key(chosen.toolchain.key)
    source = key(tree.source.digest, [project.name for project in covered.left_out])
    compiled = key(
        __version__,
        toolchain,
        source,
        asdict(chosen.compiler) | {"because": ""},
        [chosen.python.executable, chosen.python.version],
        [asdict(tool) for tool in chosen.tools],
        identity,
        asdict(narrowed) if narrowed is not None else None,
    )
    collected = key(compiled, identity["SOURCE_DATE_EPOCH"])
    nvcc = chosen.toolchain.toolkit.nvcc_version
    what = "the whole wheel" if narrowed is None else "what --only names"
    result = ("wheel", "write it in one form") if narrowed is None else ("collect", "gather it")
    return (
        Step("source", f"copy {tree.source.path}", source),
        Step("toolchain", f"{chosen.toolchain.kind}: nvcc {nvcc}", toolchain),
        Step("compile", f"{what}, {chosen.jobs.count} at a time", compiled),
        Step(*result, collected),
        Step(
            "proof",
            ", ".join(covered.require) or "list the contents",
            key(collected, covered.require),
        ),
    )


def _work(tree: Tree, steps: tuple[Step, ...], around: Surroundings) -> Path:
    compiled = next(step.key for step in steps if step.name == "compile")
    return around.cache / "work" / f"{tree.recipe.name}-{compiled[:12]}"


def _git(request: BuildRequest, tree: Tree, around: Surroundings) -> dict[str, str]:
    if request.git_mirror is None:
        return {}
    repositories = [project.repository for project in tree.projects]
    return git_mirror.environment(request.git_mirror.absolute(), repositories, around.environ)
