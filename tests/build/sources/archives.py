"""A small source distribution that calls itself vLLM."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path


def vllm_sdist(directory: Path, version: str = "0.24.0", pyproject: str = "") -> Path:
    """Write an sdist and return it."""
    target = directory / f"vllm-{version}.tar.gz"
    files = {
        "PKG-INFO": f"Metadata-Version: 2.4\nName: vllm\nVersion: {version}\n",
        "CMakeLists.txt": "project(vllm_extensions)\n",
        "setup.py": "import setuptools\n",
        "pyproject.toml": pyproject or '[build-system]\nrequires = ["setuptools"]\n',
    }
    with tarfile.open(target, "w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(f"vllm-{version}/{name}")
            member.size, member.mtime = len(text), 1767323045
            archive.addfile(member, io.BytesIO(text.encode()))
    return target
