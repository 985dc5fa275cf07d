"""What ``dsv4-doctor build`` does once its command line is read."""

from __future__ import annotations

import json
import signal
import sys
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from dsv4_doctor.cli.image import show as show_image
from dsv4_doctor.cli.options import Format
from dsv4_doctor.errors import EXIT_FAILED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_build.engine import Built
    from dsv4_build.image.making import Made
    from dsv4_build.plan import Plan
    from dsv4_build.request import BuildRequest
    from dsv4_build.sources.prepare import Effort
    from dsv4_doctor.report import Report
    from dsv4_doctor.snapshot import Snapshot


def ready(request: BuildRequest) -> BuildRequest:
    """Return the request with source and environment, after it was found to fit together."""
    if request.recipe is not None:
        return prepared(request, "make")
    looked = prepared(request, "look")
    if looked.python is not None:
        return looked
    # A wrong command line, or a machine that cannot build, should not wait for an environment.
    plan_of(looked)
    return prepared(request, "make")


def prepared(request: BuildRequest, effort: Effort) -> BuildRequest:
    """Return the request with what this much effort brings for it."""
    from dsv4_build.progress import Progress  # noqa: PLC0415
    from dsv4_build.sources.prepare import prepare  # noqa: PLC0415

    with terminated_like_interrupted():
        return prepare(request, Progress().say, effort)


def carry_out(request: BuildRequest) -> Built:
    """Plan a build, look at the machine, and carry it out."""
    from dsv4_build import engine  # noqa: PLC0415

    return engine.build(request, take_facts(request), preflight)


def verify(request: BuildRequest, output: Format) -> None:
    """Build twice under all that may vary, and say what differs; exit status 1 when it does."""
    from dsv4_build.planner import make_plan  # noqa: PLC0415
    from dsv4_build.progress import Progress  # noqa: PLC0415
    from dsv4_build.reproduce import text  # noqa: PLC0415
    from dsv4_build.reproduce.verify import verify as verified  # noqa: PLC0415
    from dsv4_build.request import Surroundings  # noqa: PLC0415

    around = Surroundings.here()
    planned = make_plan(request, take_facts(request), around)
    verdict = verified(request, around, planned, Progress())
    if output is Format.JSON:
        sys.stdout.write(json.dumps(verdict.to_json(), indent=2) + "\n")
    else:
        sys.stdout.write(text.render(verdict))
    if not verdict.same:
        raise typer.Exit(EXIT_FAILED)


def remove_work(output: Format) -> None:
    """Remove the work of earlier builds, and say its size."""
    from dsv4_build import prune as pruning  # noqa: PLC0415
    from dsv4_build.cache import cache_root  # noqa: PLC0415

    pruned = pruning.prune(pruning.Places(cache_root()))
    if output is Format.JSON:
        sys.stdout.write(json.dumps(pruned.to_json(), indent=2) + "\n")
    else:
        sys.stdout.write(pruned.to_text())


def take_facts(request: BuildRequest) -> Snapshot:
    """Take the facts of this machine, with the interpreter that is built for."""
    from dsv4_build.tree import open_tree  # noqa: PLC0415
    from dsv4_doctor.probes.registry import Request, take_snapshot  # noqa: PLC0415

    # A wrong command line should not wait for the probes.
    open_tree(request)
    # The embedded trees need setuptools and no torch: what the doctor itself runs in will do.
    # vLLM gets an environment that is made with it.
    found = take_snapshot(Request(python=request.python or sys.executable))
    if request.python is None and request.recipe is None and found.python is not None:
        # What torch it has does not matter then.
        return replace(found, python=replace(found.python, torch=None))
    return found


def preflight(plan: Plan) -> Report:
    """Run the checks over the machine as the build will see it."""
    from dsv4_doctor.evaluation import evaluate  # noqa: PLC0415 - not needed for --plan
    from dsv4_doctor.knowledge import load  # noqa: PLC0415
    from dsv4_doctor.target import Target  # noqa: PLC0415

    release = plan.tree.release or load.default_release()
    target = Target(
        release=release.name,
        archs=tuple(arch.sm for arch in plan.scope.archs),
        features=tuple(feature.name for feature in plan.scope.features),
        purpose="build",
    )
    return evaluate(plan.facts, target, release, plan.notes)


def plan_of(request: BuildRequest) -> Plan:
    """Return the plan of a request on this machine."""
    from dsv4_build.planner import make_plan  # noqa: PLC0415
    from dsv4_build.request import Surroundings  # noqa: PLC0415

    return make_plan(request, take_facts(request), Surroundings.here())


def show_plan(request: BuildRequest, output: Format) -> None:
    """Say what would be built, with what, and what it will take."""
    from dsv4_build import plan_text  # noqa: PLC0415
    from dsv4_build.cache import cache_root  # noqa: PLC0415
    from dsv4_build.estimating import estimate_text, room  # noqa: PLC0415
    from dsv4_build.estimating.estimate import estimate  # noqa: PLC0415
    from dsv4_doctor.lazy_dataclass import as_data  # noqa: PLC0415

    planned = plan_of(request)
    if request.python is None and request.recipe is None:
        sys.stderr.write("its environment is not made yet: the plan is of another interpreter\n")
    estimated = estimate(planned, cache_root())
    findings = room.findings(planned, estimated)
    if output is Format.JSON:
        told = {"estimate": estimated.to_json(), "room": as_data(findings)}
        sys.stdout.write(json.dumps(planned.to_json() | told, indent=2) + "\n")
    else:
        sys.stdout.write(plan_text.render(planned) + estimate_text.render(estimated, findings))


def show_result(built: Built, output: Format, made: Made | None) -> None:
    """Say what was built, and what is proved of it."""
    from dsv4_build import result_text  # noqa: PLC0415

    if output is Format.JSON:
        document = built.to_json() | ({"image": made.to_json()} if made is not None else {})
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
    else:
        sys.stdout.write(result_text.render(built))
        if made is not None:
            show_image(made, output)


@contextmanager
def terminated_like_interrupted() -> Iterator[None]:
    """Let SIGTERM and a terminal that goes away end a build as Ctrl-C does.

    Compilers are killed then, and nothing half-written is left. Under nohup a build goes on.
    """

    def interrupt(_signal: int, _frame: object) -> None:
        raise KeyboardInterrupt

    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = {each: signal.getsignal(each) for each in numbers}
    for each in numbers:
        if before[each] is not signal.SIG_IGN:
            signal.signal(each, interrupt)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
