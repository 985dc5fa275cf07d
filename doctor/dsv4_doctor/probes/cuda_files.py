"""Reading versions and limits out of the files of a CUDA toolkit."""

from __future__ import annotations

import json
import re

from dsv4_doctor.facts.toolkit import HostCompilerLimits

_CUDA_VERSION = re.compile(r"^[ \t]*#[ \t]*define[ \t]+CUDA_VERSION[ \t]+(\d{4,6})\b", re.MULTILINE)
_GCC_ABOVE = re.compile(r"^[ \t]*#[ \t]*if[ \t]+\(?[ \t]*__GNUC__[ \t]*>[ \t]*(\d+)")
_CLANG_FROM = re.compile(r"^[ \t]*#[ \t]*if[ \t]+\(?[ \t]*__clang_major__[ \t]*>=[ \t]*(\d+)")


def parse_manifest(text: str) -> str | None:
    """Return the version of the whole toolkit in ``version.json``, ``None`` if it has none."""
    try:
        version = json.loads(text)["cuda"]["version"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return version if isinstance(version, str) and version else None


def parse_cuda_header(text: str) -> str | None:
    """Return ``CUDA_VERSION`` of ``cuda.h`` as ``major.minor``: 12020 is 12.2."""
    match = _CUDA_VERSION.search(text)
    if match is None:
        return None
    number = int(match[1])
    return f"{number // 1000}.{number % 1000 // 10}"


def parse_host_config(text: str, path: str) -> HostCompilerLimits:
    """Return the compilers that ``crt/host_config.h`` accepts.

    CUDA 11.8 to 13.5 were read: one line ``#if __GNUC__ > 15`` for gcc; for clang one
    ``#if (__clang_major__ >= 21) || ...``, since CUDA 12.4 preceded by one of the same form for
    another system (``__HORIZON__``), so that the last one is the one for Linux.
    """
    gcc_max = clang_below = line = None
    for number, each in enumerate(text.splitlines(), 1):
        gcc = _GCC_ABOVE.match(each)
        if gcc and gcc_max is None:
            gcc_max, line = int(gcc[1]), number
        clang = _CLANG_FROM.match(each)
        if clang:
            clang_below = int(clang[1])
    return HostCompilerLimits(gcc_max, clang_below, path, line)
