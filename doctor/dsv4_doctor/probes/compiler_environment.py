"""What surrounds the host compiler: variables that name one, its parts, and system headers."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor import process
from dsv4_doctor.probes import files, programs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_ROOT = Path("/")
# Seconds; gcc answers without starting anything else.
_LIMIT = 1.0

_VARIABLES = ("CC", "CXX", "CUDAHOSTCXX", "NVCC_CCBIN", "CUDACXX")
_FLAGS = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")
_CCBIN = re.compile(r"(?:-ccbin|--compiler-bindir)(?:=|\s+)(\S+)")
# vLLM's image installs libnuma-dev for kernels that are compiled at run time (vLLM 0.33.0,
# docker/Dockerfile:799-817); csrc/cpu/utils.cpp includes the header in builds for CPUs.
_HEADERS = ("numa.h",)
_MATH = re.compile(r"\b__MATHCALL\w*\s*\(\s*(cospi|sinpi|rsqrt)\s*,")


def absent(environ: Mapping[str, str], directories: Sequence[str]) -> dict[str, str]:
    """Return the variables that name a compiler which is not there, with what they name.

    A variable may hold arguments, too, or a launcher before the compiler: ``CC="ccache gcc"``.
    A directory is a good value for ``-ccbin``.
    """
    named = {name: environ[name] for name in _VARIABLES if environ.get(name)}
    for name in _FLAGS:
        found = _CCBIN.findall(environ.get(name, ""))
        if found:
            named[name] = found[-1]
    return {name: value for name, value in named.items() if not _there(value, directories)}


def cc1plus(compiler: str) -> str | None:
    """Return gcc's C++ compiler proper, empty when it has none, ``None`` without an answer.

    gcc prints a path for a program of its own that is there, and the bare name otherwise.
    """
    try:
        done = process.run([compiler, "-print-prog-name=cc1plus"], limit=_LIMIT)
    except process.ProcessError:
        return None
    said = done.stdout.strip()
    if not done.ok or not said:
        return None
    return said if os.sep in said and files.is_file(said) else ""


def system_headers(environ: Mapping[str, str], filesystem: Path = _ROOT) -> tuple[str, ...]:
    """Return those headers of system packages that are there."""
    places = _include_directories(environ, filesystem)
    return tuple(name for name in _HEADERS if any(files.is_file(each / name) for each in places))


def libc_math(filesystem: Path = _ROOT) -> tuple[str, ...] | None:
    """Return functions that glibc's own header declares and that old CUDA headers declare, too.

    ``None`` without that header: then only the version of glibc tells.
    """
    for directory in _include_directories({}, filesystem):
        text = files.read(directory / "bits/mathcalls.h")
        if text is not None:
            return tuple(dict.fromkeys(_MATH.findall(text)))
    return None


def _include_directories(environ: Mapping[str, str], filesystem: Path) -> list[Path]:
    given = programs.directories(environ, "CPATH", "CPLUS_INCLUDE_PATH", "C_INCLUDE_PATH")
    prefix = environ.get("CONDA_PREFIX")
    return [
        *map(Path, given),
        *([Path(prefix, "include")] if prefix else []),
        filesystem / f"usr/include/{os.uname().machine}-linux-gnu",
        filesystem / "usr/include",
        filesystem / "usr/local/include",
    ]


def _there(value: str, directories: Sequence[str]) -> bool:
    try:
        words = shlex.split(value)
    except ValueError:
        words = [value]
    if not words:
        return True
    whole = files.is_directory(value) or programs.find(value, directories) is not None
    return whole or programs.find(words[0], directories) is not None
