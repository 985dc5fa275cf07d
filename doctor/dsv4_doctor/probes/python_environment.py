"""The Python environment that vLLM is or will be in, without importing anything from it."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.facts.python import PythonEnvironment
from dsv4_doctor.probes import (
    cuda_libraries,
    extension_modules,
    files,
    interpreter,
    libstdcxx,
    site_packages,
    torch_files,
    triton,
)
from dsv4_doctor.probes.parallel import both

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsv4_doctor.probes.registry import Request


def probe(request: Request) -> PythonEnvironment:
    """Choose the environment and read it."""
    for_gpus = request.archs is None or bool(request.archs) or triton.gpu_here()
    return survey(os.environ, request.python, for_gpus=for_gpus)


def survey(
    environ: Mapping[str, str], python: str | None, *, for_gpus: bool = True
) -> PythonEnvironment:
    """Choose the environment and read it.

    Args:
        environ: Environment variables.
        python: Interpreter or environment that was asked for, ``None`` to find one.
        for_gpus: Whether what only a GPU makes a question of is looked at, too: programs are
            asked for it.

    Raises:
        InterpreterError: Its interpreter is not there or does not answer.
    """
    choice = interpreter.choose(python, environ)
    described = interpreter.describe(choice)
    scan = site_packages.scan(described.sites)
    headers = described.include
    # The assemblers are programs: they are waited for while the files are read.
    ptxas, binaries = both(
        partial(triton.survey, environ, scan.roots) if for_gpus else _nothing,
        partial(extension_modules.read, scan.roots, described.version),
    )
    torches = torch_files.builds(scan.roots)
    library = libstdcxx.find(environ, Path(headers).parent.parent)
    versions = libstdcxx.versions(library) if library is not None else {}
    linked, elsewhere = triton.libcuda(environ)
    return PythonEnvironment(
        executable=choice.executable,
        chosen_by=choice.chosen_by,
        version=described.version,
        prefix=described.prefix,
        headers=headers if files.is_file(Path(headers, "Python.h")) else None,
        headers_expected=headers,
        virtual=described.virtual,
        distributions=scan.distributions,
        torch=torch_files.with_library(torches[0]) if torches else None,
        binaries=binaries,
        other_torches=torches[1:],
        ptxas=ptxas,
        libcuda=linked,
        libcuda_elsewhere=elsewhere,
        libstdcxx=str(library) if library is not None else None,
        glibcxx=versions.get("GLIBCXX"),
        cxxabi=versions.get("CXXABI"),
        shadowed=cuda_libraries.shadowed(environ, scan.roots),
    )


def _nothing() -> None:
    return None
