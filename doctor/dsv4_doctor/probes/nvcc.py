"""Asking one nvcc: its version, its architectures, where it lives and which compiler it calls."""

from __future__ import annotations

import os
import re
import shlex
from functools import partial
from pathlib import Path

from dsv4_doctor import process
from dsv4_doctor.arch import Arch
from dsv4_doctor.lazy_dataclass import dataclass
from dsv4_doctor.probes import programs
from dsv4_doctor.probes.parallel import both
from dsv4_doctor.probes.shared import Shared

# Seconds. A wrapper is asked twice in a row, and both have to fit into the limit of a probe.
_LIMIT = 2.0

_BUILD = re.compile(r"\bV(\d+\.\d+\.\d+)")
_RELEASE = re.compile(r"\brelease (\d+\.\d+)")
_MACHINE_CODE = re.compile(r"\bsm_\d{2,3}[af]?\b")
_VARIABLE = re.compile(r"(\w+)=(.*)")
_DEFINED = re.compile(r"-D__CUDACC_VER_(MAJOR|MINOR|BUILD)__=(\d+)\b")
_PATH_OF_NVCC = re.compile(r"""["'\s](/[^"'\s]*/nvcc)(?=["'\s]|$)""")


@dataclass(frozen=True)
class Answer:
    """What an nvcc says of itself.

    Attributes:
        version: Build, such as ``13.0.88``.
        archs: Machine code that it can make, such as ``sm_90a``, in order.
        error: Why there is no version.
    """

    version: str | None
    archs: tuple[str, ...]
    error: str | None


@dataclass(frozen=True)
class DryRun:
    """What nvcc would do to compile one file.

    Attributes:
        here: Directory of the real nvcc, behind every wrapper script.
        path: PATH that nvcc gives the programs that it calls.
        host_compiler: The compiler that it calls, as nvcc writes it: a path, or a name on ``path``.
        version: Build of nvcc, such as ``13.0.88``, as it tells the host compiler.
    """

    here: str | None
    path: str | None
    host_compiler: str | None
    version: str | None = None


@dataclass(frozen=True)
class Real:
    """The compiler behind an nvcc that was found.

    Attributes:
        path: Its own, behind symbolic links and wrapper scripts.
        version: Its build, where it had to be asked for its place anyway.
    """

    path: str
    version: str | None = None


def parse_version(text: str) -> str | None:
    """Return the build in the output of ``nvcc --version``, else its release."""
    match = _BUILD.search(text) or _RELEASE.search(text)
    return match[1] if match else None


def parse_architectures(text: str) -> tuple[str, ...]:
    """Return the names of machine code in the output of ``nvcc --help`` or ``--list-gpu-code``."""
    return tuple(sorted(set(_MACHINE_CODE.findall(text)), key=Arch.parse))


def parse_dry_run(text: str) -> DryRun:
    """Read the standard error of ``nvcc --dryrun -E``: lines ``#$ NAME=value``, then commands."""
    variables: dict[str, str] = {}
    host_compiler = version = None
    for line in text.splitlines():
        if not line.startswith("#$ "):
            continue
        assignment = _VARIABLE.match(line, 3)
        if assignment:
            variables[assignment[1]] = assignment[2].strip()
        elif host_compiler is None and " -E " in line and "__CUDACC__" in line:
            host_compiler = _first_word(line[3:])
            version = _defined_version(line)
    return DryRun(variables.get("_HERE_"), variables.get("PATH"), host_compiler, version)


def _defined_version(command: str) -> str | None:
    parts = dict(_DEFINED.findall(command))
    return f"{parts['MAJOR']}.{parts['MINOR']}.{parts['BUILD']}" if len(parts) == 3 else None


def parse_wrapper(text: str) -> str | None:
    """Return the absolute path of the nvcc that a wrapper script names, the last one it names."""
    paths = _PATH_OF_NVCC.findall(f"\n{text}")
    return paths[-1] if paths else None


def dry_run(nvcc: str, *options: str) -> DryRun:
    """Ask nvcc what it would do, with the flags of the environment in force.

    Nothing is written: ``-E`` names no output file, and the input is empty. The probes of toolkits
    and compilers often have the same question, which is then asked once.

    Raises:
        ProcessError: nvcc did not answer, or refused; without a host compiler it always refuses.
    """
    argv = (nvcc, "--dryrun", *options, "-x", "cu", "-E", os.devnull)
    key = argv, frozenset(os.environ.items())
    return _dry_runs.setdefault(key, Shared(partial(_dry_run, argv))).get()


_dry_runs: dict[tuple[tuple[str, ...], frozenset[tuple[str, str]]], Shared[DryRun]] = {}


def _dry_run(argv: tuple[str, ...]) -> DryRun:
    done = process.run(argv, limit=_LIMIT)
    if not done.ok:
        said = "; ".join(filter(None, map(str.strip, done.stderr.splitlines()))) or "no message"
        msg = f"{argv[0]} --dryrun: exit status {done.returncode}: {said[:400]}"
        raise process.ProcessError(msg)
    return parse_dry_run(done.stderr)


def real(nvcc: str) -> Real:
    """Return the compiler itself, behind symbolic links and wrapper scripts.

    nvcc prints its own directory in a dry run; where that fails, the script is read for the path
    that it starts. What leads nowhere is returned as it is.
    """
    path = os.path.realpath(nvcc)
    text = programs.script_text(path)
    if text is None:
        return Real(path)
    try:
        said = dry_run(nvcc)
    except process.ProcessError:
        said = DryRun(None, None, None)
    target = str(Path(said.here) / "nvcc") if said.here else parse_wrapper(text)
    if target is None or not programs.executable(target):
        return Real(path)
    return Real(os.path.realpath(target), said.version)


def ask(nvcc: str, version: str | None = None) -> Answer:
    """Ask for version and architectures, at once.

    ``--help`` lists every architecture that the options take; ``--list-gpu-code`` of CUDA 13 leaves
    out those with a suffix, such as ``sm_90a``, and is asked where the help lists none.

    Args:
        nvcc: Its path.
        version: Where it has told that already.
    """
    (known, error), (options, silent) = both(
        partial(_version, nvcc, version), partial(_output, [nvcc, "--help"])
    )
    archs = parse_architectures(options)
    if known is not None and not archs and silent is None:
        archs = parse_architectures(_output([nvcc, "--list-gpu-code"])[0])
    return Answer(known, archs if known else (), error)


def _version(nvcc: str, told: str | None) -> tuple[str | None, str | None]:
    if told is not None:
        return told, None
    text, error = _output([nvcc, "--version"])
    version = parse_version(text)
    if version is None and error is None:
        error = f"{nvcc} --version: no version in its output: {text.strip()[:100]!r}"
    return version, error


def _output(argv: list[str]) -> tuple[str, str | None]:
    try:
        done = process.run(argv, limit=_LIMIT)
    except process.ProcessError as error:
        return "", str(error)
    if not done.ok:
        said = (done.stderr.strip() or done.stdout.strip()).split("\n")[0]
        return "", f"{' '.join(argv)}: exit status {done.returncode}: {said[:200]}"
    return done.stdout, None


def _first_word(command: str) -> str | None:
    try:
        return next(iter(shlex.split(command)), None)
    except ValueError:
        return None
