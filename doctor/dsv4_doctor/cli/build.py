"""``dsv4-doctor build``: plan, preflight, toolchain, compile, wheel, proof."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from dsv4_doctor.cli.building import (
    carry_out,
    prepared,
    ready,
    remove_work,
    show_plan,
    show_result,
    terminated_like_interrupted,
    verify,
)
from dsv4_doctor.cli.image import Jit, from_build
from dsv4_doctor.cli.options import Format


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
        remove_work(output)
        return
    if plan:
        show_plan(prepared(request, "look"), output)
        return
    wished = from_build(image, image_base, image_jit, request) if image is not None else None
    request = ready(request)
    if verify_reproducible:
        with terminated_like_interrupted():
            verify(request, output)
        return
    with terminated_like_interrupted():
        built = carry_out(request)
        made = wished(built) if wished is not None else None
    show_result(built, output, made)
