"""From a request and the facts of a machine to a plan. Nothing is written and nothing is built."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from dsv4_build import choices, environment, scope, version
from dsv4_build import view as views
from dsv4_build.caching import choice as caching
from dsv4_build.plan import Plan, Step, key
from dsv4_build.seen import as_planned
from dsv4_build.source import ZIP_EPOCH
from dsv4_build.sources import crates, isolation, supply
from dsv4_build.sources.store import Store
from dsv4_build.tree import open_tree
from dsv4_build.trial import gpu
from dsv4_build.view import Places
from dsv4_doctor import __version__
from dsv4_doctor.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from dsv4_build.caching.choice import Cache
    from dsv4_build.choices import Choices
    from dsv4_build.environment import Inputs
    from dsv4_build.request import BuildRequest, Surroundings
    from dsv4_build.scope import Scope
    from dsv4_build.source import Source
    from dsv4_build.sources.supply import Supply
    from dsv4_build.tree import Tree
    from dsv4_build.view import Kind, View
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
    if request.gpu_test:
        gpu.require(tree, covered, snapshot)
    chosen = choices.choose(request, tree, covered, snapshot, around)
    cache = caching.choose(request.cache, request.cache_remote, snapshot.build_tools or ())
    inputs = _inputs(tree, covered, chosen, cache, around)
    kind, because = _paths(request, around)
    supplied = _supply(request, tree, covered, around)
    identity = environment.plan(inputs, around.environ).identity | {
        "paths": kind,
        "sources": supplied.identity,
        "packages": _packages(snapshot),
        **({"cache": cache.identity} if cache.identity else {}),
    }
    steps = _steps(tree, covered, chosen, identity)
    work = str((request.work_dir or _work(tree, steps, around, kind)).absolute())
    view = views.arrange(kind, because, work, _places(chosen))
    real = environment.plan(replace(inputs, work=work), around.environ)
    planned = environment.plan(_seen(replace(inputs, work=work), view), around.environ)
    return Plan(
        tree=tree,
        scope=covered,
        choices=chosen,
        environment=planned,
        supply=supplied,
        isolation=isolation.decide(
            offline=request.offline,
            lacking=supplied.lacking,
            variables=planned.apply(around.environ),
            cache=cache,
        ),
        steps=steps,
        work=work,
        view=view,
        out=str(request.out.absolute()),
        facts=as_planned(snapshot, chosen, real),
        cache=cache,
        canary=request.canary,
        offline=request.offline is True,
        gpu_tests=gpu.cases(tree, covered) if request.gpu_test else (),
        wheel_dir=_wheel_dir(request),
        resolution=request.resolution,
    )


def _inputs(
    tree: Tree, covered: Scope, chosen: Choices, cache: Cache, around: Surroundings
) -> Inputs:
    """Return what the environment depends on, with a stand-in for the work directory."""
    return environment.Inputs(
        recipe=tree.recipe,
        cuda_home=chosen.toolchain.root,
        compiler=chosen.compiler,
        archs=covered.archs,
        python=chosen.python.executable,
        jobs=chosen.jobs.window,
        epoch=_epoch(tree.source, around),
        work=environment.WORK,
        cache=cache,
        version=version.given(tree, chosen.toolchain.toolkit.nvcc_version or "", covered.archs),
        fetches=bool(tree.projects),
    )


def _wheel_dir(request: BuildRequest) -> str:
    if request.wheel_dir is None:
        return ""
    if request.only:
        msg = "--wheel-dir: with --only no wheel is made"
        raise UsageError(msg, hint="--out names the directory for objects")
    return str(request.wheel_dir.absolute())


# Of the packages of an interpreter, those that have a part in what a build makes.
_PARTICIPANTS = frozenset(
    ("jinja2", "numpy", "packaging", "setuptools", "setuptools-rust", "setuptools-scm", "torch")
) | {"triton", "wheel"}


def _packages(snapshot: Snapshot) -> dict[str, str]:
    """Return what of the interpreter's environment can change the result."""
    python = snapshot.python
    if python is None:
        return {}
    found = {
        each.name: f"{each.version} {each.origin or ''}"
        for each in python.distributions
        if each.name in _PARTICIPANTS
    }
    torch = python.torch
    if torch is not None:
        # The same version is built for several toolkits, and with either ABI of C++.
        found["torch"] = f"{torch.version} {torch.cuda} {torch.cxx11_abi} {found.get('torch')}"
    return found


def _epoch(source: Source, around: Surroundings) -> int:
    given = around.environ.get("SOURCE_DATE_EPOCH", "")
    return max(int(given), ZIP_EPOCH) if given.isdecimal() else source.epoch


def _steps(
    tree: Tree, covered: Scope, chosen: Choices, identity: dict[str, Any]
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


def _paths(request: BuildRequest, around: Surroundings) -> tuple[Kind, str]:
    kind, because = around.paths(request.paths)
    if kind != "fixed" or request.work_dir is None:
        return kind, because
    msg = f"--work-dir names another place than {views.ROOT}, and {because}"
    if request.paths == "fixed":
        raise UsageError(msg)
    return "own", msg


def _places(chosen: Choices) -> Places:
    toolkit = chosen.toolchain.root if chosen.toolchain.kind == "pypi" else None
    return Places(chosen.python.executable, toolkit)


def _seen(inputs: Inputs, view: View) -> Inputs:
    """Return the inputs by the names that the programs of the build know them by."""
    return replace(
        inputs,
        cuda_home=view.seen(inputs.cuda_home),
        python=view.seen(inputs.python),
        work=view.seen(inputs.work),
    )


def _work(tree: Tree, steps: tuple[Step, ...], around: Surroundings, kind: Kind) -> Path:
    if kind == "fixed":
        return views.ROOT / "work"
    compiled = next(step.key for step in steps if step.name == "compile")
    return around.cache / "work" / f"{tree.recipe.name}-{compiled[:12]}"


def _supply(request: BuildRequest, tree: Tree, covered: Scope, around: Surroundings) -> Supply:
    needed = [project for project in tree.projects if project not in covered.left_out]
    store = Store(around.cache / "sources")
    if covered.only is None and tree.release is not None:
        needed += crates.projects(tree.source, store)
    if request.git_mirror is not None:
        found = supply.from_mirror(request.git_mirror, needed, around.environ)
    else:
        found = supply.from_cache(store, needed, request.leave_out, around.environ)
    return found.cut_off() if request.offline else found
