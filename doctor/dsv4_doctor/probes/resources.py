"""Limits, places on disk, remains of earlier builds, and settings of package installers."""

from __future__ import annotations

import os
import re
import resource
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.facts.resources import CMakeCache, Resources
from dsv4_doctor.probes import environment, files, host, places

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dsv4_doctor.probes.registry import Request

_FILESYSTEM = Path("/")

# What CMake remembers and does not look for again.
_PROGRAMS = r"(?m)^(CMAKE_(?:MAKE_PROGRAM|CUDA_COMPILER|CXX_COMPILER|C_COMPILER|COMMAND)):\w+=(.+)$"
# Far into the longest cache of a vLLM build.
_CACHE_LIMIT = 1 << 20
_MOST_CACHES = 24
_INDEX = r"(?m)^\s*(index-url|index_url|default-index)\s*[=:]\s*[\"']?([^\s\"']+)"


def probe(request: Request) -> Resources:
    """Read limits, places and settings."""
    return survey(os.environ, model=request.model)


def survey(
    environ: Mapping[str, str],
    directory: Path | None = None,
    filesystem: Path = _FILESYSTEM,
    model: str | None = None,
) -> Resources:
    """Read limits, places and settings.

    Args:
        environ: Names places and files of settings.
        directory: Where a build would take place; the current one when ``None``.
        filesystem: Where ``/dev``, ``/etc``, ``/proc`` and ``/sys`` are.
        model: Directory or name of the model to serve.
    """
    here = directory or _current()
    memory = host.parse_meminfo(files.read(filesystem / "proc/meminfo") or "")
    nofile = resource.getrlimit(resource.RLIMIT_NOFILE)
    memlock = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return Resources(
        swap=memory.get("SwapTotal"),
        nofile_soft=nofile[0],
        nofile_hard=nofile[1],
        memlock_soft=memlock[0],
        memlock_hard=memlock[1],
        places=places.survey(environ, str(here), filesystem, model),
        cmake_caches=cmake_caches(here),
        package_indexes=package_indexes(_settings(environ, filesystem)),
    )


def cmake_caches(directory: Path) -> tuple[CMakeCache, ...]:
    """Return the caches of earlier builds in a source tree; none where it is no source tree."""
    if not files.is_file(directory / "CMakeLists.txt"):
        return ()
    patterns = ("CMakeCache.txt", "build*/CMakeCache.txt", "build*/*/CMakeCache.txt")
    found = [each for pattern in patterns for each in sorted(directory.glob(pattern))]
    return tuple(
        CMakeCache(str(each), missing_programs(files.read(each, _CACHE_LIMIT) or ""))
        for each in found[:_MOST_CACHES]
    )


def missing_programs(text: str) -> tuple[str, ...]:
    """Return the programs in a ``CMakeCache.txt`` that are not there any more."""
    return tuple(
        f"{name}={path}"
        for name, path in re.findall(_PROGRAMS, text)
        if path.startswith("/") and not files.exists(path)
    )


def package_indexes(paths: Iterable[Path]) -> dict[str, str]:
    """Return the addresses that replace PyPI in files of pip and uv, without passwords."""
    found = {}
    for path in dict.fromkeys(paths):
        for key, address in re.findall(_INDEX, files.read(path) or ""):
            found[f"{path}: {key}"] = environment.without_password(address)
    return found


def _settings(environ: Mapping[str, str], filesystem: Path) -> list[Path]:
    """Return where pip and uv look for settings, by their documentation."""
    home = Path(environ.get("HOME") or "/nonexistent")
    own = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    named = (environ.get("PIP_CONFIG_FILE"), environ.get("UV_CONFIG_FILE"))
    venv = environ.get("VIRTUAL_ENV")
    return [
        filesystem / "etc/pip.conf",
        filesystem / "etc/xdg/pip/pip.conf",
        filesystem / "etc/uv/uv.toml",
        home / ".pip/pip.conf",
        own / "pip/pip.conf",
        own / "uv/uv.toml",
        *(Path(each) for each in named if each),
        *((Path(venv) / "pip.conf",) if venv else ()),
    ]


def _current() -> Path:
    try:
        return Path.cwd()
    except OSError:
        # It was removed under the process.
        return Path("/")
