"""The programs that a build of vLLM calls, besides the compilers."""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor import process
from dsv4_doctor.facts.build_tools import BuildTool
from dsv4_doctor.probes import files, interpreter, programs
from dsv4_doctor.probes.parallel import gather

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dsv4_doctor.probes.registry import Request

NAMES = ("cmake", "ninja", "make", "git", "ccache", "sccache")
# Found and not asked: rustup's cargo installs a toolchain when it is.
UNASKED = ("cargo",)

_VERSION = re.compile(r"\d+(?:\.\d+)+")


def probe(request: Request) -> tuple[BuildTool, ...]:
    """Find the tools and ask each for its version."""
    return survey(os.environ, request.python)


def survey(environ: Mapping[str, str], python: str | None) -> tuple[BuildTool, ...]:
    """Find the tools beside the chosen interpreter, then on PATH, and ask for their versions."""
    directories = programs.directories(environ, "PATH")
    try:
        beside = str(Path(interpreter.choose(python, environ).executable).parent)
        directories = (beside, *directories)
    except interpreter.InterpreterError:
        # Its own probe says so; the tools on PATH are there all the same.
        pass
    asked = gather([partial(_tool, name, directories) for name in NAMES])
    home = environ.get("CARGO_HOME") or f"{environ.get('HOME', '')}/.cargo"
    places = (*directories, f"{home}/bin")
    return (*asked, *(BuildTool(name, programs.find(name, places), None) for name in UNASKED))


def parse_version(text: str) -> str | None:
    """Return the first version in what a tool prints: ``cmake version 4.1.0``, ``1.13.0.git``."""
    match = _VERSION.search(text)
    return match[0] if match else None


def _tool(name: str, directories: Sequence[str]) -> BuildTool:
    path = programs.find(name, directories)
    if path is None:
        return BuildTool(name, None, None)
    try:
        done = process.run([behind_wheel(path), "--version"])
    except process.ProcessError as error:
        return BuildTool(name, path, None, str(error))
    version = parse_version(done.stdout) if done.ok else None
    return BuildTool(name, path, version, complaint(done))


def complaint(done: process.Completed) -> str | None:
    """Return what a tool complained of, ``None`` when it only answered.

    A cmake whose modules are gone prints its version all the same, behind ``CMake Error: Could
    not find CMAKE_ROOT !!!``.
    """
    said = next((line.strip() for line in done.stderr.splitlines() if line.strip()), "")
    if done.ok and "error" not in said.lower():
        return None
    status = "" if done.ok else f"exit status {done.returncode}"
    return ": ".join(filter(None, (status, said[:200])))


def behind_wheel(path: str) -> str:
    """Return the program that a wheel's start script runs, or the path itself.

    The wheels of cmake and of older ninja put a Python script into ``bin`` and the program into
    ``site-packages/NAME/data/bin``; the script would start Python first.
    """
    if programs.script_text(path) is None:
        return path
    name, libraries = Path(path).name, Path(path).parent.parent / "lib"
    pythons = sorted(each for each in files.names(libraries) if each.startswith("python3"))
    inside = (libraries / each / f"site-packages/{name}/data/bin/{name}" for each in pythons)
    return str(files.first_file(inside) or path)
