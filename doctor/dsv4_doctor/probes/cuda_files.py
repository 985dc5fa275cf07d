"""Reading versions and limits out of the files of a CUDA toolkit."""

from __future__ import annotations

import json
import re

from dsv4_doctor.facts.toolkit import HostCompilerLimits

_CUDA_VERSION = re.compile(r"^[ \t]*#[ \t]*define[ \t]+CUDA_VERSION[ \t]+(\d{4,6})\b", re.MULTILINE)
_CUDART_VERSION = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+CUDART_VERSION[ \t]+(\d{4,6})\b", re.MULTILINE
)
_CCCL_VERSION = re.compile(r"^[ \t]*#[ \t]*define[ \t]+CCCL_VERSION[ \t]+(\d{6,9})\b", re.MULTILINE)
# glibc 2.41 declares the first four with an exception specification in C++, 2.42 the others.
_MATH_FUNCTIONS = ("cospi", "cospif", "sinpi", "sinpif", "rsqrt", "rsqrtf")
_BARE = re.compile(r"extern[ \t][^;(]*\b\w+[ \t]*\((?:double|float)[ \t]+\w+\)[ \t]*;")
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
    return _release(_CUDA_VERSION.search(text))


def parse_runtime_header(text: str) -> str | None:
    """Return ``CUDART_VERSION`` of ``cuda_runtime_api.h`` as ``major.minor``."""
    return _release(_CUDART_VERSION.search(text))


def parse_cccl_header(text: str) -> str | None:
    """Return ``CCCL_VERSION``: 3000001 is 3.0.1."""
    match = _CCCL_VERSION.search(text)
    if match is None:
        return None
    number = int(match[1])
    return f"{number // 1_000_000}.{number // 1000 % 1000}.{number % 1000}"


def parse_math_functions(text: str) -> tuple[str, ...]:
    """Return the functions that ``crt/math_functions.h`` declares without an exception clause.

    Of those that newer glibc has, too. Up to CUDA 12.9 all six end with ``;`` after the
    parameters; 13.0 gives ``cospi`` and ``sinpi`` a macro there, and 13.2 ``rsqrt`` (the headers of
    12.8.93, 12.9.86, 13.0.88 and 13.2.86 were read).
    """
    return tuple(name for name in _MATH_FUNCTIONS if _declared_bare(text, f" {name}("))


def _declared_bare(text: str, name: str) -> bool:
    """Whether a function is declared without a clause.

    One expression over the whole header took four times as long: two milliseconds.
    """
    at = text.find(name)
    while at >= 0:
        end = text.find("\n", at)
        line = text[text.rfind("\n", 0, at) + 1 : end if end >= 0 else len(text)]
        if _BARE.match(line):
            return True
        at = text.find(name, at + 1)
    return False


def _release(match: re.Match[str] | None) -> str | None:
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
