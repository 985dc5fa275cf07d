"""Carrying out a plan: preflight, source, toolchain, compile, wheel, proof, then the result."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsv4_build import preflight as gate
from dsv4_build import proof, publish, source, wheel
from dsv4_build.caching.session import session
from dsv4_build.compile import build_wheel, require_backend
from dsv4_build.environment import TOOLS
from dsv4_build.parts import Parts
from dsv4_build.planner import make_plan
from dsv4_build.progress import Progress
from dsv4_build.request import Surroundings
from dsv4_build.toolchain import pypi
from dsv4_build.work import workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dsv4_build.caching.statistics import Statistics
    from dsv4_build.plan import Plan
    from dsv4_build.process import Usage
    from dsv4_build.proof import Proof
    from dsv4_build.publish import Artifact
    from dsv4_build.request import BuildRequest
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
        usage: What the children of each step took.
        log: The output of all of them.
        cache: What the compiler cache did, ``None`` without one.
    """

    plan: Plan
    artifacts: tuple[Artifact, ...]
    proof: Proof
    usage: dict[str, tuple[Usage, ...]]
    log: str
    cache: Statistics | None

    def to_json(self) -> dict[str, Any]:
        """Return the result in the schema ``dsv4-doctor/built/1``."""
        return {
            "schema": SCHEMA,
            "artifacts": [asdict(each) for each in self.artifacts],
            "proof": self.proof.to_json(),
            "usage": {name: [asdict(each) for each in used] for name, used in self.usage.items()},
            "log": self.log,
            "cache": asdict(self.cache) if self.cache is not None else None,
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
    publish.require_place(Path(plan.out))
    archs = ", ".join(arch.sm for arch in plan.scope.archs)
    show.step("plan", f"{plan.tree.name} for {archs}")
    for note in plan.notes:
        show.say(note)
    show.step("preflight", "the machine as the build will see it")
    for finding in gate.judge(preflight(plan), plan.tree.recipe, request.force):
        show.say(f"forced past {finding.id}: {finding.title}")
    with workspace(Path(plan.work)) as work:
        return _carry_out(_Run(plan, work, show), here)


@dataclass(frozen=True)
class _Run:
    """A plan while it is carried out."""

    plan: Plan
    work: Workspace
    show: Progress
    usage: dict[str, list[Usage]] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[list[Usage]]:
        """Announce a step and write it to the journal when it ends."""
        step = self.plan.step(name)
        usage = self.usage.setdefault(name, [])
        with self.work.step(step, usage):
            self.show.step(name, step.title)
            yield usage
        if usage:
            self.show.say(_spent(usage))


def _carry_out(run: _Run, around: Surroundings) -> Built:
    plan, work = run.plan, run.work
    with run.step("source"):
        source.copy(plan.tree.source, work.source)
        if plan.scope.only is None:
            # Said before two gigabytes of toolkit are fetched.
            require_backend(work.source, plan.choices.python.executable)
    with run.step("toolchain"):
        _toolchain(plan, around, run.show)
        _link_tools(plan, work)
    environ = {**plan.environment.apply(around.environ), **plan.git}
    with session(plan.cache, environ, work, around.cache) as cache:
        if plan.scope.only is None:
            _whole(run, cache.environ)
        else:
            _parts(run, cache.environ)
    if cache.statistics is not None:
        run.show.say(f"{plan.cache.kind}: {cache.statistics.text}")
    with run.step("proof"):
        proved = proof.prove(plan, work.result)
    built = Built(
        plan=plan,
        artifacts=publish.publish(work.result, Path(plan.out)),
        proof=proved,
        usage={name: tuple(each) for name, each in run.usage.items() if each},
        log=str(work.log),
        cache=cache.statistics,
    )
    if plan.scope.only is not None:
        # A wheel says what it is; objects do not.
        publish.report(built.to_json(), Path(plan.out))
    return built


def _toolchain(plan: Plan, around: Surroundings, show: Progress) -> None:
    chosen = plan.choices.toolchain
    if chosen.selection is not None:
        compiler = plan.choices.compiler
        pypi.assemble(chosen.selection, compiler, cache=around.cache, say=show.say)
    show.say(chosen.root)


def _link_tools(plan: Plan, work: Workspace) -> None:
    directory = work.root / TOOLS
    directory.mkdir()
    for tool in plan.choices.tools:
        (directory / tool.name).symlink_to(plan.choices.tool(tool.name))
    if plan.cache.program:
        (directory / plan.cache.kind).symlink_to(plan.cache.program)


def _whole(run: _Run, environ: dict[str, str]) -> None:
    plan, work = run.plan, run.work
    with run.step("compile") as usage:
        python = plan.choices.python.executable
        built = build_wheel(work, python, environ, usage, run.show.line)
    with run.step("wheel"):
        wheel.normalise(built, work.result / built.name, int(environ["SOURCE_DATE_EPOCH"]))


def _parts(run: _Run, environ: dict[str, str]) -> None:
    with run.step("compile") as usage:
        parts = Parts(run.plan, run.work, environ, usage, run.show.line)
        parts.prepare()
        left_out = ", ".join(project.name for project in run.plan.scope.left_out)
        if left_out:
            run.show.say(f"left out, as nothing of them was asked for: {left_out}")
        parts.configure()
        goals = parts.goals()
        parts.compile(goals)
    with run.step("collect"):
        parts.collect(goals)


def _spent(usage: list[Usage]) -> str:
    wall = sum(each.seconds for each in usage)
    cpu = sum(each.cpu_seconds for each in usage)
    peak = max(each.peak_memory for each in usage)
    return f"{wall:.1f} s, {cpu:.1f} s of CPU, largest process {peak / _GIB:.2f} GiB"
