"""Carrying out a plan: preflight, source, toolchain, compile, wheel, proof, then the result."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsv4_build import preflight as gate
from dsv4_build import (
    proof,
    prune,
    publish,
    recorded_proof,
)
from dsv4_build.estimating import room
from dsv4_build.estimating.estimate import estimate
from dsv4_build.making import make
from dsv4_build.planner import make_plan
from dsv4_build.progress import Progress
from dsv4_build.reporting.keep import Account, accounted
from dsv4_build.request import Surroundings
from dsv4_build.running import Run
from dsv4_build.schedule import costs
from dsv4_build.sources import lockdiff, supply
from dsv4_build.trial import tryout
from dsv4_build.work import workspace

if TYPE_CHECKING:
    from collections.abc import Callable

    from dsv4_build.caching.statistics import Statistics
    from dsv4_build.plan import Plan
    from dsv4_build.process import Usage
    from dsv4_build.proof import Proof
    from dsv4_build.publish import Artifact
    from dsv4_build.recorded_proof import Recorded
    from dsv4_build.request import BuildRequest
    from dsv4_build.trial.gpu import Tried
    from dsv4_doctor.report import Report
    from dsv4_doctor.snapshot import Snapshot

SCHEMA = "dsv4-doctor/built/1"


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
            built = _carry_out(Run(plan, work, show, account, here.cache), here)
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


def _carry_out(run: Run, around: Surroundings) -> Built:
    plan, work = run.plan, run.work
    whole = plan.scope.only is None
    proved: Proof | Recorded
    if run.keep("proof", (work.result, work.proof)):
        proved = recorded_proof.read(work.proof)
    else:
        if not run.keep("wheel" if whole else "collect", (work.result,)):
            make(run, around)
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
