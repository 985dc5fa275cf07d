"""The CUDA toolkit that goes into an image, from PyPI's parts with their hashes."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

from dsv4_build import compilers
from dsv4_build.toolchain import pypi
from dsv4_build.toolchain.pins import Selection, cuda_13_0
from dsv4_doctor.errors import BuildError, UsageError
from dsv4_doctor.probes.registry import PROBES, Request, take_snapshot

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dsv4_build.request import Surroundings


def assemble(
    machine: str, around: Surroundings, say: Callable[[str], None]
) -> tuple[Selection, Path]:
    """Return the pins and the directory of a whole toolkit.

    Raises:
        UsageError: The image is for another processor than this machine's.
        BuildError: It cannot be assembled.
    """
    if machine != platform.machine():
        msg = f"--jit pypi tries the toolkit that it assembles, and {machine} is not this machine"
        raise UsageError(msg, hint=f"make the image on {machine}, or --jit base")
    snapshot = take_snapshot(Request(), [each for each in PROBES if each.name == "compilers"])
    if snapshot.compilers is None:
        msg = f"the host compilers could not be told: {snapshot.probes[0].error}"
        raise BuildError(msg)
    selection = Selection(cuda_13_0(), "full", machine)
    pins = selection.pins
    bounds = compilers.Bounds(pins.host_compiler, f"CUDA {pins.cuda}")
    compiler = compilers.choose(snapshot.compilers, bounds)
    return selection, pypi.assemble(selection, compiler, cache=around.cache, say=say)
