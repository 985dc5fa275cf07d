from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.build.caching.bench import Bench

from dsv4_build.journal import Journal
from dsv4_build.work import JOURNAL, Workspace


@pytest.fixture
def bench(tmp_path: Path, nvcc: Path) -> Bench:
    work = Workspace(tmp_path / "work", Journal.at(tmp_path / "work" / JOURNAL))
    work.root.mkdir()
    gcc, gxx = shutil.which("gcc") or "", shutil.which("g++") or ""
    environ = {
        "PATH": f"{nvcc.parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "CUDA_HOME": str(nvcc.parent.parent),
        "CUDACXX": str(nvcc),
        "CC": gcc,
        "CXX": gxx,
        "NVCC_CCBIN": gxx,
        "LC_ALL": "C",
    }
    return Bench(work, tmp_path / "caches", environ)


@pytest.fixture(scope="module")
def nvcc(real_toolkit: Path) -> Path:
    return real_toolkit / "bin" / "nvcc"
