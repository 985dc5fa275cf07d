"""Container engines, and how they hand GPUs to containers: files alone, no daemon is asked."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.facts.containers import Containers
from dsv4_doctor.probes import files
from dsv4_doctor.probes.programs import which
from dsv4_doctor.process import ProcessError, run

if TYPE_CHECKING:
    from collections.abc import Callable

    from dsv4_doctor.probes.registry import Request

_FILESYSTEM = Path("/")

PROGRAMS = (
    "docker",
    "podman",
    "buildah",
    "nerdctl",
    "nvidia-ctk",
    "nvidia-container-runtime",
    "nvidia-container-cli",
)
_SPECIFICATIONS = ("etc/cdi", "var/run/cdi", "run/cdi")
_VERSION = r"\b\d+\.\d+\.\d+\b"


def probe(_request: Request) -> Containers:
    """Read which engines there are."""
    return survey()


def survey(filesystem: Path = _FILESYSTEM, find: Callable[[str], str | None] = which) -> Containers:
    """Read which engines there are.

    Args:
        filesystem: Where ``/etc`` and ``/run`` are.
        find: Finds a program on PATH.
    """
    programs = {name: path for name in PROGRAMS if (path := find(name)) is not None}
    docker = programs.get("docker")
    runtimes, default, cdi, error = _daemon(filesystem / "etc/docker/daemon.json")
    specs = _specifications(filesystem)
    return Containers(
        programs=programs,
        docker_snap=docker is not None and "/snap/" in f"{docker} {os.path.realpath(docker)}",
        docker_version=_version(docker) if docker and specs and cdi is None else None,
        docker_runtimes=runtimes,
        docker_default_runtime=default,
        docker_cdi=cdi,
        docker_error=error,
        cdi_specs=specs,
    )


def _daemon(path: Path) -> tuple[tuple[str, ...], str, bool | None, str | None]:
    """Return runtimes, the default one, the feature ``cdi``, and why they could not be read."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return (), "", None, None
    except (OSError, ValueError) as error:
        return (), "", None, f"{path}: {error}"
    return parse_daemon(text, str(path))


def parse_daemon(text: str, name: str) -> tuple[tuple[str, ...], str, bool | None, str | None]:
    """Read docker's ``daemon.json``.

    Args:
        text: JSON.
        name: Where it is from, for the error.

    Returns:
        Runtimes, the default one, the feature ``cdi``, and why they could not be read.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        return (), "", None, f"{name}: {error}"
    if not isinstance(data, dict):
        return (), "", None, f"{name}: not a JSON object"
    runtimes, features = data.get("runtimes"), data.get("features")
    default = data.get("default-runtime")
    cdi = features.get("cdi") if isinstance(features, dict) else None
    return (
        tuple(sorted(map(str, runtimes))) if isinstance(runtimes, dict) else (),
        default if isinstance(default, str) else "",
        cdi if isinstance(cdi, bool) else None,
        None,
    )


def _specifications(filesystem: Path) -> tuple[str, ...]:
    found = (
        directory / name
        for directory in (filesystem / each for each in _SPECIFICATIONS)
        for name in sorted(files.names(directory))
        if name.endswith((".yaml", ".json"))
    )
    # /var/run is a link to /run on most machines.
    return tuple(sorted({os.path.realpath(each) for each in found}))


def _version(docker: str) -> str | None:
    try:
        done = run([docker, "--version"], limit=2.0)
    except ProcessError:
        return None
    found = re.search(_VERSION, done.stdout)
    return found[0] if found else None
