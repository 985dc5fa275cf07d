"""CUDA libraries that ``LD_LIBRARY_PATH`` puts before those of pip's wheels."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.probes import files, programs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_LIBRARY = re.compile(
    r"lib(?:cudart|cublas|cublasLt|cudnn|cufft|curand|cusolver|cusparse|nccl|nvJitLink|nvrtc)"
    r"\.so\.\d+"
)


def shadowed(environ: Mapping[str, str], roots: Iterable[Path]) -> dict[str, str]:
    """Return the libraries of pip's wheels that a directory of ``LD_LIBRARY_PATH`` has, too.

    NVIDIA's wheels find each other by ``RUNPATH``, which comes after that variable.

    Returns:
        Name of each library, to the file behind the one that the variable leads to.
    """
    directories = programs.directories(environ, "LD_LIBRARY_PATH")
    if not directories:
        return {}
    inside = {
        name: os.path.realpath(directory)
        for root in roots
        for directory in root.glob("nvidia/*/lib")
        for name in files.names(directory)
        if _LIBRARY.fullmatch(name)
    }
    found: dict[str, str] = {}
    for directory in directories:
        for name in files.names(directory):
            if name in inside and os.path.realpath(directory) != inside[name]:
                found.setdefault(name, os.path.realpath(Path(directory, name)))
    return dict(sorted(found.items()))
