"""Asking an assembled toolkit whether its parts belong together, before anybody uses it."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from dsv4_build.answers import answer
from dsv4_doctor.errors import BuildError
from dsv4_doctor.process import ProcessError, run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_build.toolchain.pins import Pins, Selection

# The programs that print their release; cicc, the compiler of libNVVM, writes it into its PTX.
_PROGRAMS = ("bin/nvcc", "bin/ptxas", "bin/cudafe++", "bin/fatbinary", "bin/nvlink")
_RELEASE = re.compile(r"\bV(\d+\.\d+\.\d+)")
_HEADER = re.compile(r"^\s*#\s*define\s+CUDA_VERSION\s+(\d+)", re.MULTILINE)

_PROBE = "__global__ void probe(int* out) { *out = 1; }\n"

# Seconds for one run of nvcc on a kernel of one line, on a machine that is busy.
LIMIT = 60.0


def verify(tree: Path, selection: Selection, cxx: str) -> None:
    """Check that every part is the pinned one and that a kernel compiles.

    Args:
        tree: The arranged toolkit.
        cxx: Host compiler for nvcc.

    Raises:
        BuildError: Naming the part that does not fit.
    """
    pins = selection.pins
    _parts(tree, selection)
    for program in _PROGRAMS:
        _expect(program, _program_version(tree / program), pins.nvcc)
    _expect("include/cuda.h", header_version(tree / "include" / "cuda.h"), pins.cuda)
    with _probe_kernel(tree) as kernel:
        _expect("nvvm/bin/cicc", _compiled_version(tree, pins, kernel, cxx), pins.nvcc)
        # Both libraries and both library directories that nvcc.profile names take part.
        argv = ["-shared", "-Xcompiler", "-fPIC", "-cudart", "shared", "-lcuda"]
        _nvcc(tree, [*argv, "-ccbin", cxx, "-o", str(kernel.with_suffix(".so")), str(kernel)])


def _parts(tree: Path, selection: Selection) -> None:
    manifest = json.loads((tree / "version.json").read_text(encoding="utf-8"))
    for part in selection.parts:
        _expect(part.name, manifest.get(part.name, {}).get("version"), part.version)


def _expect(part: str, found: str | None, wanted: str) -> None:
    if found != wanted:
        msg = f"{part} of the assembled toolkit is {found or 'missing'}, not {wanted}"
        raise BuildError(msg, hint="the parts of a toolkit must be of one release")


def _program_version(program: Path) -> str | None:
    try:
        done = run([str(program), "--version"])
    except ProcessError as error:
        msg = f"the assembled toolkit does not run here: {error}"
        raise BuildError(msg) from error
    match = _RELEASE.search(done.stdout + done.stderr)
    return match[1] if match else None


def header_version(header: Path) -> str | None:
    """Return ``major.minor`` of ``CUDA_VERSION`` in ``cuda.h``, ``None`` when it is not there."""
    try:
        match = _HEADER.search(header.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None
    return f"{int(match[1]) // 1000}.{int(match[1]) % 1000 // 10}" if match else None


def _compiled_version(tree: Path, pins: Pins, kernel: Path, cxx: str) -> str | None:
    """Compile to PTX, which crt, cudafe++ and cicc take part in, and read who wrote it."""
    ptx = kernel.with_suffix(".ptx")
    arch = max(pins.archs).compute
    _nvcc(tree, [f"-arch={arch}", "-ptx", "-ccbin", cxx, "-o", str(ptx), str(kernel)])
    match = _RELEASE.search(ptx.read_text(encoding="utf-8", errors="replace"))
    return match[1] if match else None


@contextmanager
def _probe_kernel(tree: Path) -> Iterator[Path]:
    with TemporaryDirectory(prefix=".verify-", dir=tree) as directory:
        kernel = Path(directory) / "probe.cu"
        kernel.write_text(_PROBE)
        yield kernel


def _nvcc(tree: Path, arguments: list[str]) -> None:
    # NVCC_* variables of the caller would try another compiler than the one that is verified.
    env = dict.fromkeys(("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN"), "")
    argv = [str(tree / "bin" / "nvcc"), *arguments]
    answer(argv, "the assembled toolkit does not compile", limit=LIMIT, env=env)
