"""The assemblers that an installed Triton runs, and which GPUs they know."""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor import process
from dsv4_doctor.facts.python import Ptxas
from dsv4_doctor.probes import files, programs
from dsv4_doctor.probes.nvcc import parse_architectures
from dsv4_doctor.probes.parallel import gather

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# Seconds; the assembler prints its help in some hundredths.
_LIMIT = 2.0

_ROOT = Path("/")
_LIBCUDA = "libcuda.so.1"
_CACHED = re.compile(rb"(/[^\0]+)/libcuda\.so\.1\0")
# Some hundred kilobytes on a machine with many libraries.
_MAX_CACHE = 8 << 20
# Where container runtimes, WSL and cuda-compat put the library.
_MOUNTS = (
    "usr/local/nvidia/lib64",
    "usr/lib/wsl/lib",
    "usr/lib/*-linux-gnu",
    "usr/local/cuda*/compat",
)

_TOOLS = (("ptxas", "TRITON_PTXAS_PATH"), ("ptxas-blackwell", "TRITON_PTXAS_BLACKWELL_PATH"))


def survey(environ: Mapping[str, str], roots: Iterable[Path]) -> tuple[Ptxas, ...]:
    """Ask the assemblers of the Triton that would be imported; nothing without one.

    The variable comes first, and where its program does not run, the one in the wheel (triton
    3.6.0, ``triton/knobs.py:207``). Architectures from ``sm_100`` on are assembled by the second
    one, where the wheel has it (``triton/backends/nvidia/compiler.py:34``).
    """
    package = next((root / "triton" for root in roots if files.is_directory(root / "triton")), None)
    if package is None:
        return ()
    return tuple(gather([partial(_ask, *each) for each in _choices(environ, package)]))


def gpu_here(filesystem: Path = _ROOT) -> bool:
    """Whether a driver offers a GPU: its device, or that of WSL."""
    return any(files.exists(filesystem / name) for name in ("dev/nvidiactl", "dev/dxg"))


def libcuda(
    environ: Mapping[str, str], filesystem: Path = _ROOT
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return where Triton lets its linker look for libcuda, and where else there is one.

    The rule is ``libcuda_dirs`` of ``triton/backends/nvidia/driver.py`` (3.6.0, line 21):
    ``TRITON_LIBCUDA_PATH``, else what ``ldconfig -p`` lists, else ``LD_LIBRARY_PATH``.
    """
    given = environ.get("TRITON_LIBCUDA_PATH")
    listed = [given] if given else _cached(filesystem / "etc/ld.so.cache")
    if not listed:
        listed = list(programs.directories(environ, "LD_LIBRARY_PATH"))
    found = [each for each in listed if files.exists(Path(each, _LIBCUDA))]
    mounted = (directory for pattern in _MOUNTS for directory in sorted(filesystem.glob(pattern)))
    others = [str(each) for each in mounted if files.exists(each / _LIBCUDA)]
    return tuple(found), tuple(each for each in others if each not in found)


def _cached(cache: Path) -> list[str]:
    """Return the directories with libcuda in the linker's cache, which holds paths as they are."""
    try:
        with cache.open("rb") as file:
            paths = _CACHED.findall(file.read(_MAX_CACHE))
    except OSError:
        return []
    return list(dict.fromkeys(os.fsdecode(each) for each in paths))


def parse_help(text: str) -> tuple[str, ...]:
    """Return the architectures in the output of ``ptxas --help``."""
    section = re.search(r"--gpu-name\b.*?(?=^--|Default value)", text, re.DOTALL | re.MULTILINE)
    return parse_architectures(section[0] if section else text)


def _choices(environ: Mapping[str, str], package: Path) -> Iterator[tuple[str, str, bool]]:
    for name, variable in _TOOLS:
        own = package / "backends/nvidia/bin" / name
        given = environ.get(variable)
        blackwell = name != "ptxas"
        if not files.is_file(own) and (blackwell or not given):
            continue
        if given and programs.executable(given):
            yield given, variable, blackwell
        else:
            yield str(own), "triton", blackwell


def _ask(path: str, chosen_by: str, blackwell: bool) -> Ptxas:
    try:
        archs = parse_help(process.run([path, "--help"], limit=_LIMIT).stdout)
    except process.ProcessError as problem:
        return Ptxas(path, chosen_by, blackwell, (), str(problem))
    return Ptxas(
        path, chosen_by, blackwell, archs, None if archs else f"{path} --help lists no architecture"
    )
