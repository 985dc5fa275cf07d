"""Which CUDA toolkit torch and CMake would take here, by their own rules."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.probes import files, programs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

# What CMake searches after PATH (CMAKE_SYSTEM_PREFIX_PATH of Modules/Platform/UnixPaths.cmake),
# less its own directory.
SYSTEM_PREFIXES = ("/usr/local", "/usr", "/", "/usr/X11R6", "/usr/pkg", "/opt")
# The PATHS of FindCUDA's second search.
LAST = "/opt/cuda/bin"
DEFAULT = "/usr/local/cuda"


def torch_root(environ: Mapping[str, str], *, default: str = DEFAULT) -> str | None:
    """Return what torch would set ``CUDA_HOME`` to, as it is: no link is followed.

    The rule is ``_find_cuda_home`` of ``torch/utils/cpp_extension.py`` (torch 2.11, line 117):
    ``CUDA_HOME``, ``CUDA_PATH``, two directories above the nvcc on PATH, ``/usr/local/cuda``.
    """
    home = environ.get("CUDA_HOME") or environ.get("CUDA_PATH")
    if home is not None:
        return home or None
    nvcc = programs.find("nvcc", programs.directories(environ, "PATH"))
    if nvcc is not None:
        return _two_up(nvcc)
    return default if files.exists(default) else None


def cmake_root(
    environ: Mapping[str, str], *, prefixes: Sequence[str] = SYSTEM_PREFIXES, last: str = LAST
) -> str | None:
    """Return what FindCUDA would set ``CUDA_TOOLKIT_ROOT_DIR`` to, as it is.

    The rule is torch's copy, ``Modules_CUDA_fix/upstream/FindCUDA.cmake`` (torch 2.11, lines
    672-700): a root that is given; nvcc in ``CUDA_TOOLKIT_ROOT``, ``CUDA_PATH`` and
    ``CUDA_BIN_PATH``; nvcc where ``find_program`` looks. ``CUDA_HOME`` is never read.
    """
    given = cmake_definition(environ, "CUDA_TOOLKIT_ROOT_DIR")
    if given:
        return given
    nvcc = programs.find("nvcc", _cmake_directories(environ, prefixes, last))
    return _two_up(nvcc) if nvcc else None


def cmake_definition(environ: Mapping[str, str], name: str) -> str | None:
    """Return a variable that ``CMAKE_ARGS`` sets; vLLM's setup.py hands that variable to CMake."""
    found = None
    for word in environ.get("CMAKE_ARGS", "").split():
        match = re.fullmatch(rf"-D{re.escape(name)}(?::\w+)?=(.*)", word)
        if match:
            found = match[1]
    return found


def _cmake_directories(
    environ: Mapping[str, str], prefixes: Sequence[str], last: str
) -> Iterator[str]:
    """Yield the directories in the order that ``cmake --debug-find`` shows for CMake 4.4."""
    hints = programs.directories(environ, "CUDA_TOOLKIT_ROOT", "CUDA_PATH", "CUDA_BIN_PATH")
    for directory in hints:
        yield from (f"{directory}/{suffix}" for suffix in ("bin", "bin64", "."))
    own = programs.directories(environ, "CUDA_ROOT", "CMAKE_PREFIX_PATH")
    paths = programs.directories(environ, "CMAKE_PROGRAM_PATH", "PATH")
    for directory in chain(_below(own), paths, _below(prefixes)):
        yield from (f"{directory}/cuda/bin", directory)
    yield last


def _below(prefixes: Iterable[str]) -> Iterator[str]:
    for prefix in prefixes:
        yield from (f"{prefix}/{directory}" for directory in ("bin", "sbin", "."))


def _two_up(nvcc: str) -> str:
    return str(Path(nvcc).parent.parent)
