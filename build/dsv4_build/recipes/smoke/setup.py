"""Drives CMake and Ninja for the extension modules, one CMake target for each."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

PACKAGE = "dsv4_smoke"
VERSION = "1.0.0"
OLDEST_PYTHON = "cp310"


class CMakeExtension(Extension):
    """An extension module that CMake knows how to build."""

    def __init__(self, target: str) -> None:
        super().__init__(f"{PACKAGE}.{target}", sources=[], py_limited_api=True)
        self.target = target


class cmake_build_ext(build_ext):  # noqa: N801 - setuptools names its commands so
    """Configures once, builds every target, installs each into the wheel's tree."""

    def build_extensions(self) -> None:
        """Build all extensions of the tree."""
        tree = Path(__file__).resolve().parent
        temporary = Path(self.build_temp).resolve()
        temporary.mkdir(parents=True, exist_ok=True)
        jobs = os.environ.get("MAX_JOBS") or str(os.cpu_count() or 1)
        configure = [
            "cmake",
            str(tree),
            "-G",
            "Ninja",
            f"-DCMAKE_BUILD_TYPE={os.environ.get('CMAKE_BUILD_TYPE', 'Release')}",
            f"-DSMOKE_PYTHON_EXECUTABLE={sys.executable}",
        ]
        if "CUDA_HOME" in os.environ:
            configure.append(f"-DCMAKE_CUDA_COMPILER={os.environ['CUDA_HOME']}/bin/nvcc")
        subprocess.check_call(configure, cwd=temporary)
        targets = [f"--target={extension.target}" for extension in self.extensions]
        subprocess.check_call(["cmake", "--build", ".", f"-j{jobs}", *targets], cwd=temporary)
        for extension in self.extensions:
            prefix = Path(self.get_ext_fullpath(extension.name)).parent.parent.resolve()
            subprocess.check_call(
                ["cmake", "--install", ".", "--prefix", prefix, "--component", extension.target],
                cwd=temporary,
            )


def targets() -> list[str]:
    """Return the extension modules for the architectures that were asked for."""
    archs = os.environ.get("TORCH_CUDA_ARCH_LIST", "").replace(";", " ").split()
    hopper = any(arch.startswith("9.0") for arch in archs)
    return ["_C", *(["_fa3_C"] if hopper else [])]


setup(
    version=os.environ.get("DSV4_SMOKE_VERSION", VERSION),
    ext_modules=[CMakeExtension(target) for target in targets()],
    cmdclass={"build_ext": cmake_build_ext},
    options={"bdist_wheel": {"py_limited_api": OLDEST_PYTHON}},
)
