"""``dsv4-doctor build``: plan, preflight, toolchain, compile, wheel, proof."""

from __future__ import annotations

import json
import signal
import sys
from contextlib import contextmanager
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dsv4_doctor.cli.image import Jit, from_build
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


class Paths(str, Enum):
    """How a build gets paths that are the same everywhere."""

    AUTO = "auto"
    NAMESPACE = "namespace"
    FIXED = "fixed"
    OWN = "own"


class Toolchain(str, Enum):
    """Where the CUDA toolkit comes from."""

    AUTO = "auto"
    SYSTEM = "system"
    PYPI = "pypi"


class CompilerCache(str, Enum):
    """Which compiler cache stands before the compilers."""

    AUTO = "auto"
    CCACHE = "ccache"
    SCCACHE = "sccache"
    OFF = "off"


def build(  # noqa: PLR0913 - one parameter an option
    *,
    arch: Annotated[
        list[str] | None,
        typer.Option("--arch", metavar="ARCH", help="Architecture, such as sm_90; repeatable."),
    ] = None,
    vllm: Annotated[
        str | None,
        typer.Option(
            "--vllm",
            metavar="RELEASE|PATH",
            help="vLLM: a release, an sdist, a checkout; default: as of check.",
        ),
    ] = None,
    recipe: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="An embedded tree instead of vLLM: smoke."),
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Show the plan and do nothing.")] = False,
    toolchain: Annotated[
        Toolchain,
        typer.Option(help="CUDA toolkit: of the machine, from PyPI, or the first that does."),
    ] = Toolchain.AUTO,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the result goes.")] = Path("dist"),
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Build only this kernel, component or feature; repeatable.",
        ),
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(metavar="FEATURES", help="Features to prove; default: those for the archs."),
    ] = None,
    python: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="Interpreter to build for."),
    ] = None,
    force: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Build although this check fails; repeatable."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Compilers at a time.")
    ] = None,
    git_mirror: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Take git repositories from DIR/OWNER/NAME.git."),
    ] = None,
    work_dir: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Build here; default: a place named by the inputs."),
    ] = None,
    canary: Annotated[
        bool,
        typer.Option("--canary", help="Compile one unit of each family before the others."),
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Put build-report.json and its page there, also of a failed build."
        ),
    ] = None,
    cache: Annotated[
        CompilerCache,
        typer.Option(help="Compiler cache; auto takes ccache where it is installed."),
    ] = CompilerCache.AUTO,
    cache_remote: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar="DSV4_CACHE_REMOTE",
            show_envvar=True,
            help="Cache shared with others: redis://… or s3://…; a password is safer in the "
            "variable than on the command line.",
        ),
    ] = None,
    schedule: Annotated[
        bool,
        typer.Option(
            "--schedule/--no-schedule",
            help="Start compilers as memory allows; without, a fixed number runs.",
        ),
    ] = True,
    paths: Annotated[
        Paths,
        typer.Option(help="Same paths everywhere: by a namespace, at a fixed place, or not."),
    ] = Paths.AUTO,
    clean: Annotated[
        bool,
        typer.Option("--clean", help="Begin anew; do not go on with an earlier build's work."),
    ] = False,
    keep_work: Annotated[
        bool,
        typer.Option("--keep-work", help="Leave sources and objects in the work directory."),
    ] = False,
    verify_reproducible: Annotated[
        bool,
        typer.Option(
            "--verify-reproducible",
            help="Build twice under different circumstances and compare the bytes.",
        ),
    ] = False,
    prune: Annotated[
        bool,
        typer.Option("--prune", help="Only remove the work of earlier builds, and say its size."),
    ] = False,
    offline: Annotated[
        bool | None,
        typer.Option(
            "--offline/--online",
            help="Fetch nothing; or: compilers keep the network. "
            "Default: what is missing is fetched, then the network is cut off.",
        ),
    ] = None,
    leave_out: Annotated[
        list[str] | None,
        typer.Option(metavar="OWNER/NAME", help="Take no submodule from here; repeatable."),
    ] = None,
    lock: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Lock of the build: written, or held against it."),
    ] = None,
    update_lock: Annotated[
        bool, typer.Option("--update-lock", help="Write the lock anew.")
    ] = False,
    exclude_newer: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Build requirements as of this time; default: the tree's own; '' for no limit.",
        ),
    ] = None,
    wheel_dir: Annotated[
        Path | None,
        typer.Option(
            "--wheel-dir",
            "-w",
            metavar="DIR",
            help="Where the wheel goes, as for pip wheel; default: --out.",
        ),
    ] = None,
    gpu_test: Annotated[
        bool,
        typer.Option("--gpu-test", help="Run the kernels that were built on this machine's GPU."),
    ] = False,
    image: Annotated[
        str | None,
        typer.Option(metavar="WHERE", help="Make an image of the wheel, too; see `image --help`."),
    ] = None,
    image_base: Annotated[
        str | None, typer.Option(metavar="IMAGE", help="What the image lies on.")
    ] = None,
    image_jit: Annotated[
        Jit, typer.Option(help="Where the image's run-time compilers come from.")
    ] = Jit.AUTO,
    output: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.TEXT,
) -> None:
    """Build a wheel from source and prove what is inside it.

    Exit status: 0 built and proved, 1 a check, a step or the proof failed, 2 wrong command line,
    4 the doctor itself broke.
    """
    from dsv4_build.request import BuildRequest  # noqa: PLC0415 - not needed for --help

    request = BuildRequest(
        archs=tuple(arch or ()),
        out=out,
        vllm=vllm,
        recipe=recipe,
        toolchain=toolchain.value,
        python=python,
        only=tuple(only or ()),
        features=tuple(require or ()),
        force=tuple(force or ()),
        jobs=jobs,
        git_mirror=git_mirror,
        work_dir=work_dir,
        canary=canary,
        report=report,
        cache=cache.value,
        cache_remote=cache_remote,
        schedule=schedule,
        paths=paths.value,
        clean=clean,
        keep_work=keep_work,
        offline=offline,
        leave_out=tuple(leave_out or ()),
        exclude_newer=exclude_newer,
        lock=lock,
        update_lock=update_lock,
        wheel_dir=wheel_dir,
        gpu_test=gpu_test,
    )
    if prune:
        _prune(output)
        return
    if plan:
        _show_plan(_prepared(request, "look"), output)
        return
    wished = from_build(image, image_base, image_jit, request) if image is not None else None
    request = _ready(request)
    if verify_reproducible:
        with terminated_like_interrupted():
            _verify(request, output)
        return
    with terminated_like_interrupted():
        built = _build(request)
        made = wished(built) if wished is not None else None
    _show_result(built, output, made)


def _ready(request: BuildRequest) -> BuildRequest:
    """Return the request with source and environment, after it was found to fit together."""
    if request.recipe is not None:
        return _prepared(request, "make")
    looked = _prepared(request, "look")
    if looked.python is not None:
        return looked
    # A wrong command line, or a machine that cannot build, should not wait for an environment.
    _plan(looked)
    return _prepared(request, "make")


def _prepared(request: BuildRequest, effort: Effort) -> BuildRequest:
    from dsv4_build.progress import Progress  # noqa: PLC0415
    from dsv4_build.sources.prepare import prepare  # noqa: PLC0415

    with terminated_like_interrupted():
        return prepare(request, Progress().say, effort)


def _build(request: BuildRequest) -> Built:
    from dsv4_build import engine  # noqa: PLC0415

    return engine.build(request, take_facts(request), preflight)


def _verify(request: BuildRequest, output: Format) -> None:
    from dsv4_build.planner import make_plan  # noqa: PLC0415
    from dsv4_build.progress import Progress  # noqa: PLC0415
    from dsv4_build.reproduce import text, verify  # noqa: PLC0415
    from dsv4_build.request import Surroundings  # noqa: PLC0415

    around = Surroundings.here()
    planned = make_plan(request, take_facts(request), around)
    verdict = verify.verify(request, around, planned, Progress())
    if output is Format.JSON:
        sys.stdout.write(json.dumps(verdict.to_json(), indent=2) + "\n")
    else:
        sys.stdout.write(text.render(verdict))
    if not verdict.same:
        raise typer.Exit(EXIT_FAILED)


def _prune(output: Format) -> None:
    from dsv4_build import prune  # noqa: PLC0415
    from dsv4_build.cache import cache_root  # noqa: PLC0415

    pruned = prune.prune(prune.Places(cache_root()))
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


def _plan(request: BuildRequest) -> Plan:
    from dsv4_build.planner import make_plan  # noqa: PLC0415
    from dsv4_build.request import Surroundings  # noqa: PLC0415

    return make_plan(request, take_facts(request), Surroundings.here())


def _show_plan(request: BuildRequest, output: Format) -> None:
    from dsv4_build import plan_text  # noqa: PLC0415
    from dsv4_build.cache import cache_root  # noqa: PLC0415
    from dsv4_build.estimating import estimate_text, room  # noqa: PLC0415
    from dsv4_build.estimating.estimate import estimate  # noqa: PLC0415
    from dsv4_doctor.lazy_dataclass import as_data  # noqa: PLC0415

    planned = _plan(request)
    if request.python is None and request.recipe is None:
        sys.stderr.write("its environment is not made yet: the plan is of another interpreter\n")
    estimated = estimate(planned, cache_root())
    findings = room.findings(planned, estimated)
    if output is Format.JSON:
        told = {"estimate": estimated.to_json(), "room": as_data(findings)}
        sys.stdout.write(json.dumps(planned.to_json() | told, indent=2) + "\n")
    else:
        sys.stdout.write(plan_text.render(planned) + estimate_text.render(estimated, findings))


def _show_result(built: Built, output: Format, made: Made | None) -> None:
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
