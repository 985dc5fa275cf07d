"""Carrying out a plan: preflight, source, toolchain, compile, wheel, proof, then the result."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsv4_build import (
    canary,
    external,
    leftovers,
    proof,
    prune,
    publish,
    recorded_proof,
    resume,
    source,
)
from dsv4_build import preflight as gate
from dsv4_build.caching import session as caching
from dsv4_build.compile import build_wheel, require_backend
from dsv4_build.environment import TOOLS
from dsv4_build.estimating import room
from dsv4_build.estimating.estimate import estimate
from dsv4_build.handover import seal
from dsv4_build.parts import Parts
from dsv4_build.planner import make_plan
from dsv4_build.progress import Progress
from dsv4_build.reporting.keep import Account, accounted
from dsv4_build.reporting.status import watched
from dsv4_build.request import Surroundings
from dsv4_build.restore import restore
from dsv4_build.schedule import costs, session
from dsv4_build.sources import lockdiff, rust, supply
from dsv4_build.toolchain import pypi
from dsv4_build.trial import install, tryout
from dsv4_build.work import discard, workspace
from dsv4_doctor.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dsv4_build.caching.statistics import Statistics
    from dsv4_build.plan import Plan
    from dsv4_build.process import Usage
    from dsv4_build.proof import Proof
    from dsv4_build.publish import Artifact
    from dsv4_build.recorded_proof import Recorded
    from dsv4_build.request import BuildRequest
    from dsv4_build.trial.gpu import Tried
    from dsv4_build.work import Workspace
    from dsv4_doctor.report import Report
    from dsv4_doctor.snapshot import Snapshot

SCHEMA = "dsv4-doctor/built/1"

_GIB = 1 << 30


@dataclass(frozen=True)
class Built:
    """What a build gave.

    Attributes:
        artifacts: The files in the output directory.
        proof: What is inside them, read from their bytes.
        usage: What the children of each step took, of those that were not kept.
        log: The output of all of them.
        tried: Kernels that ran on this machine's GPU.
        kept: Steps whose output an earlier build of the same inputs had left.
        cache: What the compiler cache did, ``None`` without one.
    """

    plan: Plan
    artifacts: tuple[Artifact, ...]
    proof: Proof | Recorded
    usage: dict[str, tuple[Usage, ...]]
    log: str
    tried: tuple[Tried, ...] = ()
    kept: tuple[str, ...] = ()
    cache: Statistics | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the result in the schema ``dsv4-doctor/built/1``."""
        return {
            "schema": SCHEMA,
            "artifacts": [asdict(each) for each in self.artifacts],
            "proof": self.proof.to_json(),
            "usage": {name: [asdict(each) for each in used] for name, used in self.usage.items()},
            "log": self.log,
            "gpu_test": [each.to_json() for each in self.tried],
            "kept": list(self.kept),
            "cache": asdict(self.cache) if self.cache is not None else None,
            "network": self.plan.to_json()["network"],
            "plan": self.plan.to_json(),
        }


def build(
    request: BuildRequest,
    snapshot: Snapshot,
    preflight: Callable[[Plan], Report],
    *,
    around: Surroundings | None = None,
    progress: Progress | None = None,
) -> Built:
    """Plan a build and carry it out.

    Args:
        snapshot: Facts of this machine.
        preflight: Judges the machine as the plan says that the build will see it.
        around: What is taken from the doctor's own process; by default from this one.
        progress: Where to say how it goes; by default on standard error.

    Raises:
        UsageError: The request does not fit together.
        InputError: The source tree cannot be read.
        BuildError: A step failed, or the proof found something missing; the output directory is
            then as it was.
    """
    here = around if around is not None else Surroundings.here()
    show = progress if progress is not None else Progress()
    plan = make_plan(request, snapshot, here)
    if supply.fill(plan, request, here, show):
        plan = make_plan(request, snapshot, here)
    plan.supply.require(supply.pulled_as(plan))
    lockdiff.settle(plan, request, show.say)
    publish.require_place(Path(plan.destination))
    archs = ", ".join(arch.sm for arch in plan.scope.archs)
    show.step("plan", f"{plan.tree.name} for {archs}")
    for note in plan.notes:
        show.say(note)
    show.step("preflight", "the machine as the build will see it")
    report = room.added(preflight(plan), plan, estimate(plan, here.cache))
    for finding in gate.judge(report, plan.tree.recipe, request.force):
        show.say(f"forced past {finding.id}: {finding.title}")
    for finding in room.warnings(report):
        show.say(f"{finding.id}: {finding.title}")
    key = plan.step("compile").key
    with workspace(
        Path(plan.work), key, clean=request.clean, say=show.say, parked=plan.view.parked
    ) as work:
        account = Account(plan, work, costs.family_of)
        places = [request.report] if request.report is not None else []
        with accounted(account, places, show.say):
            built = _carry_out(_Run(plan, work, show, account, here.cache), here)
        if plan.scope.only is not None and account.content:
            # A wheel says what it is; objects do not.
            publish.report(account.content, Path(plan.out))
        if not request.keep_work:
            work.tidy()
    if "proof" not in built.kept:
        earlier = prune.others(prune.Places(here.cache), Path(plan.work))
        if earlier:
            show.say(earlier)
    return built


@dataclass(frozen=True)
class _Run:
    """A plan while it is carried out."""

    plan: Plan
    work: Workspace
    show: Progress
    account: Account
    cache: Path
    usage: dict[str, list[Usage]] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)
    began: str = field(default_factory=seal.now)

    @contextmanager
    def step(self, name: str, outputs: Sequence[Path] = ()) -> Iterator[list[Usage]]:
        """Announce a step and write it to the journal when it begins and ends.

        Args:
            outputs: What it makes in the work directory, for :meth:`keep`.
        """
        step = self.plan.step(name)
        usage = self.usage.setdefault(name, [])
        with self.work.step(step, usage, outputs):
            self.show.step(name, step.title)
            yield usage
        if usage:
            self.show.say(_spent(usage))

    def keep(self, name: str, outputs: Sequence[Path]) -> bool:
        """Whether a step need not be done again, and say so."""
        if not self.work.kept(self.plan.step(name), outputs):
            return False
        self.show.step(name, "kept: done before with the same inputs, and its bytes are the same")
        self.kept.append(name)
        return True


def _carry_out(run: _Run, around: Surroundings) -> Built:
    plan, work = run.plan, run.work
    whole = plan.scope.only is None
    proved: Proof | Recorded
    if run.keep("proof", (work.result, work.proof)):
        proved = recorded_proof.read(work.proof)
    else:
        if not run.keep("wheel" if whole else "collect", (work.result,)):
            _make(run, around)
        with run.step("proof", (work.result, work.proof)):
            proved = proof.prove(plan, work.result)
            recorded_proof.write(proved, work.proof)
    tried = tryout.on_gpu(plan, work, run.show.say)
    built = Built(
        plan=plan,
        artifacts=publish.publish(work.result, Path(plan.destination)),
        proof=proved,
        usage={name: tuple(each) for name, each in run.usage.items() if each},
        log=str(work.log),
        cache=run.account.cache,
        tried=tried,
        kept=tuple(run.kept),
    )
    run.account.result = built.to_json()
    return built


def _make(run: _Run, around: Surroundings) -> None:
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


def _source(run: _Run) -> None:
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


def _whole(run: _Run, environ: dict[str, str]) -> None:
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
    run: _Run, environ: dict[str, str], usage: list[Usage], line: Callable[[str], None]
) -> None:
    canary.forget(run.work.root)
    try:
        build_wheel(run.plan, run.work, environ, usage, line)
    except BuildError as error:
        raise canary.explained(error, run.work.root) from error
    if run.plan.canary:
        done = canary.read(run.work.root)
        run.show.say(done.text if done is not None else "no canary: nothing was to be compiled")


def _parts(run: _Run, environ: dict[str, str]) -> None:
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
def _resumed(run: _Run) -> Iterator[Callable[[str], None]]:
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
def _scheduled(run: _Run) -> Iterator[dict[str, str]]:
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


def _spent(usage: list[Usage]) -> str:
    wall = sum(each.seconds for each in usage)
    cpu = sum(each.cpu_seconds for each in usage)
    peak = max(each.peak_memory for each in usage)
    return f"{wall:.1f} s, {cpu:.1f} s of CPU, largest process {peak / _GIB:.2f} GiB"
