"""Which versions of NVIDIA's packages on PyPI make up one CUDA release.

The packages are numbered each in its own way; mixed releases compile until a header and a
library disagree.
"""

from __future__ import annotations

import json
from functools import cache

from packaging.version import Version

from dsv4_doctor.knowledge.places import Place
from dsv4_doctor.lazy_dataclass import dataclass
from dsv4_doctor.resources import files


@dataclass(frozen=True)
class CudaParts:
    """The parts of one CUDA release.

    Attributes:
        release: Release of the package ``cuda-toolkit``, such as ``13.0.2``.
        parts: Version by name of the package.
        place: Where they stand.
    """

    release: str
    parts: dict[str, str]
    place: Place


@cache
def cuda_parts() -> tuple[CudaParts, ...]:
    """Return the parts of the newest release of each CUDA, and of the one that is assembled."""
    text = files(__package__).joinpath("cuda_parts.json").read_text(encoding="utf-8")
    return tuple(
        CudaParts(each["release"], dict(each["parts"]), Place(**each["at"]))
        for each in json.loads(text)["releases"]
    )


def parts_of(cuda: str) -> CudaParts | None:
    """Return the parts of a release, or of the newest of ``major.minor``."""
    wanted = Version(cuda).release
    found = [
        each
        for each in cuda_parts()
        if Version(each.release).release[: max(len(wanted), 2)] == wanted
    ]
    return found[-1] if found else None
