"""A kernel that a real nvcc compiles through a real cache."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.build.redis_server import needs

from dsv4_build.caching.choice import Cache, choose
from dsv4_build.caching.session import session
from dsv4_build.caching.statistics import Statistics
from dsv4_build.process import Job, run_logged
from dsv4_build.work import Workspace
from dsv4_doctor.errors import BuildError
from dsv4_doctor.probes.build_tools import survey

KERNEL = """\
namespace { __global__ void kernel(int* x) { x[0] = VALUE; } }
void start(int* x) { kernel<<<1, 1>>>(x); }
"""


@dataclass
class Bench:
    """A kernel that is compiled through a cache, in one place."""

    work: Workspace
    place: Path
    environ: dict[str, str]

    def compile(
        self,
        cache: Cache,
        value: int = 1,
        flags: dict[str, str] | None = None,
        before: Callable[[], None] = lambda: None,
    ) -> tuple[bytes, Statistics]:
        """Compile once; ``before`` is called when the cache is ready."""
        (self.work.root / "kernel.cu").write_text(f"#define VALUE {value}\n{KERNEL}")
        target = self.work.root / "kernel.o"
        target.unlink(missing_ok=True)
        with session(cache, {**self.environ, **(flags or {})}, self.work, self.place) as used:
            before()
            nvcc = [*([cache.program] if cache.program else []), self.environ["CUDACXX"]]
            arguments = ["-gencode=arch=compute_90,code=sm_90", "-c", "kernel.cu", "-o", "kernel.o"]
            job = Job([*nvcc, *arguments], used.environ, self.work.log, self.work.root, 120)
            run_logged(job)
        assert used.statistics is not None
        return target.read_bytes(), used.statistics


def cache(kind: str, remote: str | None = None) -> Cache:
    needs(kind)
    tools = survey(os.environ, sys.executable)
    try:
        return choose(kind, remote, tools)  # type: ignore[arg-type]
    except BuildError as error:
        if os.environ.get("DSV4_CACHE_REQUIRED"):
            raise
        pytest.skip(str(error))
