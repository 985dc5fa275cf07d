"""Making what a plan is for: every step from the source up to the result directory."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from dsv4_build import (
    canary,
    external,
    leftovers,
    resume,
    source,
)
from dsv4_build.caching import session as caching
from dsv4_build.compile import build_wheel, require_backend
from dsv4_build.environment import TOOLS
from dsv4_build.handover import seal
from dsv4_build.parts import Parts
from dsv4_build.reporting.status import watched
from dsv4_build.restore import restore
from dsv4_build.schedule import session
from dsv4_build.sources import rust
from dsv4_build.toolchain import pypi
from dsv4_build.trial import install, tryout
from dsv4_build.work import discard
from dsv4_doctor.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dsv4_build.plan import Plan
    from dsv4_build.process import Usage
    from dsv4_build.progress import Progress
    from dsv4_build.request import Surroundings
    from dsv4_build.running import Run
    from dsv4_build.work import Workspace


def make(run: Run, around: Surroundings) -> None:
    """Do every step up to the one that fills the result directory."""
    plan, work = run.plan, run.work
    work.new_log()
    ended = leftovers.end(work.root)
    if ended:
        run.show.say(f"{ended} programs of an earlier build ran on, and were killed")
    with run.step("source"):
        _source(run)
    with run.step("toolchain"):
        _toolchain(plan, around, run.show)
        _link_tools(plan, work)
        plan.view.link()
    run.show.say(f"network {plan.isolation}")
    environ = {
        **plan.environment.apply(around.environ),
        **plan.supply.variables,
        leftovers.MARK: str(work.root),
        **around.imposed,
    }
    with (
        caching.session(plan.cache, environ, work, around.cache, plan.view) as cache,
        watched(work.root, run.show),
    ):
        if plan.scope.only is None:
            rust.provide(plan, work, environ, around, run.show.say)
            _whole(run, cache.environ)
        else:
            _parts(run, cache.environ)
    if cache.statistics is not None:
        run.account.cache = cache.statistics
        run.show.say(f"{plan.cache.kind}: {cache.statistics.text}")


def _source(run: Run) -> None:
    plan, work = run.plan, run.work
    fresh = work.root / "source.new"
    discard(fresh)
    source.copy(plan.tree.source, fresh)
    external.leave_out(fresh, plan.scope.left_out)
    if plan.scope.only is None:
        # Said before two gigabytes of toolkit are fetched.
        require_backend(fresh, plan.choices.python.executable)
        install.require_means(plan.choices.python.executable)
    if work.source.exists():
        changed = restore(fresh, work.source)
        if changed:
            run.show.say(f"{len(changed)} files were not as in the source, and are restored")
        discard(fresh)
    else:
        fresh.rename(work.source)


def _toolchain(plan: Plan, around: Surroundings, show: Progress) -> None:
    chosen = plan.choices.toolchain
    if chosen.selection is not None:
        if plan.offline:
            pypi.require(chosen.selection, around.cache)
        compiler = plan.choices.compiler
        pypi.assemble(chosen.selection, compiler, cache=around.cache, say=show.say)
    show.say(chosen.root)


def _link_tools(plan: Plan, work: Workspace) -> None:
    directory = work.root / TOOLS
    discard(directory)
    directory.mkdir()
    for tool in plan.choices.tools:
        (directory / tool.name).symlink_to(plan.choices.tool(tool.name))
    if plan.canary and plan.scope.only is None:
        (directory / "ninja").unlink()
        canary.install(directory / "ninja", plan.choices.tool("ninja"))
    if plan.cache.program:
        (directory / plan.cache.kind).symlink_to(plan.cache.program)


def _whole(run: Run, environ: dict[str, str]) -> None:
    plan, work = run.plan, run.work
    if not run.keep("compile", (work.backend,)):
        with (
            run.step("compile", (work.backend,)) as usage,
            _resumed(run) as line,
            _scheduled(run) as variables,
        ):
            _wheel(run, {**environ, **variables}, usage, line)
    with run.step("wheel", (work.result,)):
        discard(work.result)
        (built,) = work.backend.glob("*.whl")
        seal.seal(plan, work, built, int(environ["SOURCE_DATE_EPOCH"]), run.began)


def _wheel(
    run: Run, environ: dict[str, str], usage: list[Usage], line: Callable[[str], None]
) -> None:
    canary.forget(run.work.root)
    try:
        build_wheel(run.plan, run.work, environ, usage, line)
    except BuildError as error:
        raise canary.explained(error, run.work.root) from error
    if run.plan.canary:
        done = canary.read(run.work.root)
        run.show.say(done.text if done is not None else "no canary: nothing was to be compiled")


def _parts(run: Run, environ: dict[str, str]) -> None:
    with (
        run.step("compile") as usage,
        _resumed(run) as line,
        _scheduled(run) as variables,
    ):
        parts = Parts(run.plan, run.work, {**environ, **variables}, usage, line)
        left_out = ", ".join(project.name for project in run.plan.scope.left_out)
        if left_out:
            run.show.say(f"left out, as nothing of them was asked for: {left_out}")
        parts.configure()
        goals = parts.goals()
        if run.plan.canary:
            run.show.say(parts.canary(goals).text)
        parts.compile(tryout.goals(run.plan, run.work, goals))
    with run.step("collect", (run.work.result,)):
        discard(run.work.result)
        tryout.keep_modules(run.plan, run.work)
        parts.collect(goals)


@contextmanager
def _resumed(run: Run) -> Iterator[Callable[[str], None]]:
    """Go on where an earlier attempt was cut off, and keep a journal for the next one."""
    for note in resume.prepare(run.work):
        run.show.say(note)
    try:
        with resume.recorded(run.work, run.show.line, run.plan.view.real) as line:
            yield line
    except BaseException:
        # Ninja gives each compiler a process group of its own, which outlives ninja's.
        with suppress(BuildError):
            leftovers.end(run.work.root)
        raise


@contextmanager
def _scheduled(run: Run) -> Iterator[dict[str, str]]:
    """Let memory decide which compilers run; yields the variables that this needs."""
    choices = run.plan.choices
    if not choices.jobs.scheduled:
        yield {}
        return
    place = session.Place(
        work=run.work.root,
        cache=run.cache,
        tree=run.plan.tree.recipe.name,
        archs=[arch.sm for arch in run.plan.scope.archs],
        nvcc=choices.toolchain.toolkit.nvcc_version or "",
        seen=run.plan.view.seen,
        compiler_cache=run.plan.cache.launcher,
    )
    host = run.plan.facts.host
    cores = host.cpus if host is not None else choices.jobs.count
    with session.scheduled(place, cores, choices.jobs, run.show.say) as variables:
        yield variables
