"""The Python environment that vLLM is or will be in, without importing anything from it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.facts.python import PythonEnvironment, TorchBuild
from dsv4_doctor.probes import extension_modules, files, interpreter, site_packages, torch_build

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dsv4_doctor.probes.registry import Request


def probe(request: Request) -> PythonEnvironment:
    """Choose the environment and read it."""
    return survey(os.environ, request.python)


def survey(environ: Mapping[str, str], python: str | None) -> PythonEnvironment:
    """Choose the environment and read it.

    Raises:
        InterpreterError: Its interpreter is not there or does not answer.
    """
    choice = interpreter.choose(python, environ)
    described = interpreter.describe(choice)
    scan = site_packages.scan(described.sites)
    headers = described.include
    return PythonEnvironment(
        executable=choice.executable,
        chosen_by=choice.chosen_by,
        version=described.version,
        prefix=described.prefix,
        headers=headers if files.is_file(Path(headers, "Python.h")) else None,
        headers_expected=headers,
        distributions=scan.distributions,
        torch=_torch(scan.roots),
        binaries=extension_modules.read(scan.roots, described.version),
        virtual=described.virtual,
    )


def _torch(roots: Iterable[Path]) -> TorchBuild | None:
    """Return the build of the torch that would be imported, ``None`` for none."""
    path = files.first_file(root / "torch/version.py" for root in roots)
    text = files.read(path) if path is not None else None
    return torch_build.parse(text, str(path)) if text is not None else None
