"""``dsv4-doctor build``: plan, preflight, toolchain, compile, wheel, proof."""

from __future__ import annotations

from pathlib import Path

from dsv4_doctor.cli import build_options, options
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


def build(  # noqa: PLR0913 - one parameter an option
    *,
    arch: options.Archs = None,
    vllm: build_options.Vllm = None,
    recipe: build_options.Recipe = None,
    plan: build_options.Plan = False,
    toolchain: build_options.ToolchainOption = build_options.Toolchain.AUTO,
    out: build_options.Out = Path("dist"),
    only: build_options.Only = None,
    require: build_options.Require = None,
    python: build_options.Python = None,
    force: build_options.Force = None,
    jobs: build_options.Jobs = None,
    git_mirror: build_options.GitMirror = None,
    work_dir: build_options.WorkDir = None,
    canary: build_options.Canary = False,
    report: build_options.Report = None,
    cache: build_options.Cache = build_options.CompilerCache.AUTO,
    cache_remote: build_options.CacheRemote = None,
    schedule: build_options.Schedule = True,
    paths: build_options.PathsOption = build_options.Paths.AUTO,
    clean: build_options.Clean = False,
    keep_work: build_options.KeepWork = False,
    verify_reproducible: build_options.VerifyReproducible = False,
    prune: build_options.Prune = False,
    offline: build_options.Offline = None,
    leave_out: options.LeaveOut = None,
    lock: build_options.Lock = None,
    update_lock: build_options.UpdateLock = False,
    exclude_newer: build_options.ExcludeNewer = None,
    wheel_dir: build_options.WheelDir = None,
    gpu_test: build_options.GpuTest = False,
    image: build_options.Image = None,
    image_base: build_options.ImageBase = None,
    image_jit: build_options.ImageJit = Jit.AUTO,
    output: options.Output = Format.TEXT,
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
