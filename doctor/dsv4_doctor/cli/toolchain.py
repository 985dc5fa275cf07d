"""``dsv4-doctor toolchain``: a CUDA toolkit from PyPI, without building anything with it."""

from __future__ import annotations

import sys
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from dsv4_build.compilers import HostCompiler
    from dsv4_build.toolchain.pins import Pins


class Group(str, Enum):
    """How much of a toolkit."""

    COMPILE = "compile"
    FULL = "full"


def toolchain(
    *,
    group: Annotated[
        Group,
        typer.Option(help="compile: nvcc and the runtime; full: the math libraries, too."),
    ] = Group.FULL,
    requirements: Annotated[
        bool,
        typer.Option(
            "--requirements",
            help="Print the pinned parts as a requirements file, and do nothing else.",
        ),
    ] = False,
) -> None:
    """Assemble CUDA 13.0 from PyPI's wheels and print where it is.

    Nothing is done when it is there. No root is needed; the directory is below XDG_CACHE_HOME.
    """
    import platform  # noqa: PLC0415 - a check must not wait for what a build needs

    from dsv4_build.progress import Progress  # noqa: PLC0415
    from dsv4_build.toolchain import pypi  # noqa: PLC0415
    from dsv4_build.toolchain.pins import Selection, cuda_13_0  # noqa: PLC0415

    selection = Selection(cuda_13_0(), group.value, platform.machine())
    if requirements:
        sys.stdout.write(selection.requirements)
        return
    progress = Progress()
    root = pypi.assemble(selection, _compiler(selection.pins), say=progress.say)
    sys.stdout.write(f"{root}\n")


def _compiler(pins: Pins) -> HostCompiler:
    from dsv4_build import compilers  # noqa: PLC0415
    from dsv4_doctor.errors import BuildError  # noqa: PLC0415
    from dsv4_doctor.probes.registry import PROBES, Request, take_snapshot  # noqa: PLC0415

    wanted = [probe for probe in PROBES if probe.name == "compilers"]
    snapshot = take_snapshot(Request(), wanted)
    if snapshot.compilers is None:
        msg = f"the host compilers could not be told: {snapshot.probes[0].error}"
        raise BuildError(msg)
    bounds = compilers.Bounds(pins.host_compiler, f"CUDA {pins.cuda}")
    return compilers.choose(snapshot.compilers, bounds)
