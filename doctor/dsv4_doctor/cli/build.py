"""``dsv4-doctor build``: plan, preflight, toolchain, compile, wheel, proof."""

from __future__ import annotations

import json
import signal
import sys
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dsv4_doctor.cli.options import Format

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_build.engine import Built
    from dsv4_build.plan import Plan
    from dsv4_build.request import BuildRequest
    from dsv4_doctor.report import Report
    from dsv4_doctor.snapshot import Snapshot


class Toolchain(str, Enum):
    """Where the CUDA toolkit comes from."""

    AUTO = "auto"
    SYSTEM = "system"
    PYPI = "pypi"


def build(  # noqa: PLR0913 - one parameter an option
    *,
    arch: Annotated[
        list[str] | None,
        typer.Option("--arch", metavar="ARCH", help="Architecture, such as sm_90; repeatable."),
    ] = None,
    vllm: Annotated[
        str | None,
        typer.Option("--vllm", metavar="PATH", help="vLLM's sdist or a checkout."),
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
    )
    if plan:
        _show_plan(request, output)
        return
    with terminated_like_interrupted():
        built = _build(request)
    _show_result(built, output)


def _build(request: BuildRequest) -> Built:
    from dsv4_build import engine  # noqa: PLC0415

    return engine.build(request, take_facts(request), preflight)


def take_facts(request: BuildRequest) -> Snapshot:
    """Take the facts of this machine, with the interpreter that is built for."""
    from dsv4_build.tree import open_tree  # noqa: PLC0415
    from dsv4_doctor.probes.registry import Request, take_snapshot  # noqa: PLC0415

    # A wrong command line should not wait for the probes.
    open_tree(request)
    # The embedded trees need setuptools and no torch: what the doctor itself runs in will do.
    default = sys.executable if request.recipe is not None else None
    return take_snapshot(Request(python=request.python or default))


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


def _show_plan(request: BuildRequest, output: Format) -> None:
    from dsv4_build import plan_text  # noqa: PLC0415
    from dsv4_build.planner import make_plan  # noqa: PLC0415
    from dsv4_build.request import Surroundings  # noqa: PLC0415

    planned = make_plan(request, take_facts(request), Surroundings.here())
    if output is Format.JSON:
        sys.stdout.write(json.dumps(planned.to_json(), indent=2) + "\n")
    else:
        sys.stdout.write(plan_text.render(planned))


def _show_result(built: Built, output: Format) -> None:
    from dsv4_build import result_text  # noqa: PLC0415

    if output is Format.JSON:
        sys.stdout.write(json.dumps(built.to_json(), indent=2) + "\n")
    else:
        sys.stdout.write(result_text.render(built))


@contextmanager
def terminated_like_interrupted() -> Iterator[None]:
    """Let SIGTERM end a build as Ctrl-C does: compilers killed, nothing half-written left."""

    def interrupt(_signal: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
