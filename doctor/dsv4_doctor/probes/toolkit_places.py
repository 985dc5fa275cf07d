"""Places where a CUDA toolkit may be: variables, PATH, the usual directories, conda, pip."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.lazy_dataclass import dataclass
from dsv4_doctor.probes import files, interpreter, programs, toolkit_layout

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True)
class Place:
    """A directory that may be a toolkit.

    Attributes:
        origin: How it was found.
        root: As a consumer would write it.
        nvcc: Its compiler, ``None`` for none; a link or a wrapper script, perhaps.
    """

    origin: str
    root: Path
    nvcc: str | None

    @property
    def has_headers(self) -> bool:
        """Whether CUDA's headers are in it."""
        return toolkit_layout.header(self.root, "cuda.h") is not None


def at(origin: str, root: str | Path) -> Place:
    """Return the place with this directory."""
    nvcc = Path(root) / "bin/nvcc"
    return Place(origin, Path(root), str(nvcc) if files.is_file(nvcc) else None)


def on_path(environ: Mapping[str, str]) -> Place | None:
    """Return the place of the nvcc that is first on PATH."""
    nvcc = programs.find("nvcc", programs.directories(environ, "PATH"))
    return Place("PATH", Path(nvcc).parent.parent, nvcc) if nvcc is not None else None


def system(environ: Mapping[str, str], filesystem: Path) -> list[Place]:
    """Return the toolkits of the machine, in the order in which they matter."""
    every = [*_named(environ), *_usual(filesystem)]
    if environ.get("CONDA_PREFIX"):
        every.append(at("conda", environ["CONDA_PREFIX"]))
    return [each for each in every if each.nvcc or toolkit_layout.is_toolkit(each.root)]


def pip(environ: Mapping[str, str], python: str | None) -> list[Place]:
    """Return the toolkits that pip's wheels make up in the chosen Python environment.

    An interpreter that does not answer has none; its own probe says what is wrong with it.
    """
    try:
        sites = interpreter.describe(interpreter.choose(python, environ)).sites
    except interpreter.InterpreterError:
        return []
    roots = [root for site in sites for root in sorted(Path(site).glob("nvidia/cu[0-9]*"))]
    return [at("pip", root) for root in roots if toolkit_layout.is_toolkit(root)]


def _named(environ: Mapping[str, str]) -> Iterator[Place]:
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if environ.get(name):
            yield at(name, environ[name])
    first = on_path(environ)
    if first is not None:
        yield first
    named = environ.get("CUDACXX", "")
    if os.sep in named and files.is_file(named):
        yield Place("CUDACXX", Path(named).parent.parent, named)


def _usual(filesystem: Path) -> Iterator[Place]:
    local = filesystem / "usr/local"
    for root in (local / "cuda", *sorted(local.glob("cuda-*"))):
        yield at(f"/usr/local/{root.name}", root)
    # Debian's packages spread a toolkit over these two; Arch's package is in the last one.
    for name in ("usr/lib/cuda", "usr/lib/nvidia-cuda-toolkit", "opt/cuda"):
        yield at(f"/{name}", filesystem / name)
    # NVIDIA's HPC SDK: Linux_x86_64/24.3/cuda/12.3.
    for root in sorted((filesystem / "opt/nvidia/hpc_sdk").glob("Linux_*/*/cuda/[0-9]*.[0-9]*")):
        yield at("HPC SDK", root)
