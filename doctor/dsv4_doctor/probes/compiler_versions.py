"""Which host compilers there are: their names, kinds and versions."""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor import process
from dsv4_doctor.facts.compiler import Compiler
from dsv4_doctor.probes import files, programs
from dsv4_doctor.probes.parallel import gather

if TYPE_CHECKING:
    from collections.abc import Sequence

# Seconds. One compiler is asked twice at most, and nvcc before it, within the limit of a probe.
_LIMIT = 1.0

_NAME = re.compile(r"(?:gcc|g\+\+|clang|clang\+\+)(?:-\d+(?:\.\d+)*)?")
_VERSION = re.compile(r"\d+(?:\.\d+)+")
_CLANG = re.compile(r"\bclang version (\d+(?:\.\d+)+)")
_CLANG_PROGRAM = re.compile(r"clang(?:\+\+)?(?:-(\d+)(?:\.\d+)*)?")
# Debian and Ubuntu file the headers of every clang here, too, by its full version.
_FILED = Path("/usr/lib/clang")


def parse_gcc(text: str) -> str | None:
    """Return the version in the output of ``gcc -dumpfullversion -dumpversion``."""
    first = text.strip().partition("\n")[0]
    return first if re.fullmatch(r"\d+(?:\.\d+)*", first) else None


def parse_version(text: str) -> tuple[str | None, bool]:
    """Return the version in the output of ``--version``, and whether it is clang that speaks.

    Of gcc the first line is ``g++ (Debian 12.2.0-14) 12.2.0``: what stands in brackets is the
    package's.
    """
    clang = _CLANG.search(text)
    if clang is not None:
        return clang[1], True
    first = re.sub(r"\([^()]*\)", "", text.strip().partition("\n")[0])
    match = _VERSION.search(first)
    return (match[0] if match else None), False


def kind(path: str) -> str:
    """Return ``gcc``, ``g++``, ``clang`` or ``clang++`` by the name of a program or its target.

    ``cc`` and ``c++`` are gcc's unless they lead to clang.
    """
    names = (Path(path).name, Path(os.path.realpath(path)).name)
    plus = "++" in names[0]
    if any("clang" in name for name in names):
        return "clang++" if plus else "clang"
    return "g++" if plus else "gcc"


def on_path(directories: Sequence[str]) -> list[str]:
    """Return the compilers in these directories, versioned names too, in their order.

    Two names for one program are both kept, because a remedy names them; the same name in two
    directories that lead to one program, such as ``/usr/bin`` and ``/bin``, is one.
    """
    found: dict[tuple[str, str], str] = {}
    distinct: dict[str, str] = {}
    for directory in directories:
        distinct.setdefault(os.path.realpath(directory), directory)
    for directory in distinct.values():
        for name in sorted(filter(_NAME.fullmatch, files.names(directory))):
            path = str(Path(directory, name))
            if programs.executable(path):
                found.setdefault((name, os.path.realpath(path)), path)
    return list(found.values())


def identify(paths: Sequence[str]) -> list[Compiler]:
    """Find the versions of compilers, side by side; one that gives none is left out.

    A clang is not run where its files tell its version: to print it, it takes 70 MiB. Names that
    lead to one program share an answer, unless the program is none of a compiler: what stands
    behind ``/usr/lib/ccache/g++`` goes by the name that it was called by.
    """
    programs_of = {path: _program(path) for path in paths}
    distinct = list(dict.fromkeys(programs_of.values()))
    answers = dict(zip(distinct, gather([partial(_look, each) for each in distinct]), strict=True))
    return [
        Compiler(path, _spoken(kind(path), answer.kind.startswith("clang")), answer.version)
        for path, program in programs_of.items()
        if (answer := answers[program]) is not None
    ]


def ask(path: str) -> Compiler | None:
    """Ask one compiler for its version, ``None`` when it does not answer with one."""
    guess = kind(path)
    version = None
    if guess.startswith("g"):
        version = parse_gcc(_output([path, "-dumpfullversion", "-dumpversion"]))
    if version is None:
        version, clang = parse_version(_output([path, "--version"]))
        guess = _spoken(guess, clang)
    return Compiler(path, guess, version) if version is not None else None


def clang_version(program: str) -> str | None:
    """Return the full version that a clang's own headers are filed under.

    They are in ``lib/clang/VERSION/include`` beside its ``bin``, from 16 on by the major version
    alone (LLVM's ``clang/CMakeLists.txt``, ``CLANG_RESOURCE_DIR``); Debian's packages link to them
    from ``/usr/lib/clang/16.0.6``.

    Args:
        program: Path without symbolic links.

    Returns:
        ``None`` for what is no clang, and where its headers do not tell one full version, or
        another one than the program is named by.
    """
    path = Path(program)
    named = _CLANG_PROGRAM.fullmatch(path.name)
    if named is None or path.parent.name != "bin":
        return None
    prefix = path.parent.parent
    own = os.path.realpath(prefix / "lib/clang") + os.sep
    versions = {
        name
        for directory in (prefix / "lib/clang", _FILED)
        for name in filter(_VERSION.fullmatch, files.names(directory))
        if files.is_directory(headers := directory / name / "include")
        and os.path.realpath(headers).startswith(own)
    }
    version = versions.pop() if len(versions) == 1 else None
    if version is None or named[1] not in {None, version.partition(".")[0]}:
        return None
    return version


def _spoken(named: str, clang: bool) -> str:
    """Return the kind of a compiler by its name, unless it is clang that speaks."""
    if not clang or named.startswith("clang"):
        return named
    return "clang++" if named == "g++" else "clang"


def _look(program: str) -> Compiler | None:
    version = clang_version(program)
    return Compiler(program, kind(program), version) if version is not None else ask(program)


def _program(path: str) -> str:
    real = os.path.realpath(path)
    return real if re.search(r"gcc|g\+\+|clang", Path(real).name) else path


def _output(argv: list[str]) -> str:
    try:
        return process.run(argv, limit=_LIMIT).stdout
    except process.ProcessError:
        return ""
