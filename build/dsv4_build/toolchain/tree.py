"""Turning unpacked wheels into the tree that CMake and nvcc expect of a CUDA toolkit."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING

from dsv4_build.toolchain import stub
from dsv4_doctor.errors import BuildError

if TYPE_CHECKING:
    from pathlib import Path

    from dsv4_build.toolchain.pins import Pins

_VERSIONED_LIBRARY = re.compile(r"(?P<plain>lib[\w.+-]+?\.so)\.\d[\w.]*")

# Beside the toolkit itself the wheels carry notes of how they were packed.
_NOT_TOOLKIT = (".metadata",)


def arrange(unpacked: Path, tree: Path, pins: Pins, compiler: str) -> None:
    """Move the toolkit out of an unpacked ``--target`` directory and complete it.

    The wheels lack ``lib64``, the unversioned names that a linker looks for, and the stub of the
    driver library; CMake then ends with "Could NOT find CUDA" or "CUDA::cuda_driver ... target was
    not found".

    Args:
        unpacked: What the installer filled.
        tree: Where the toolkit goes; must not exist.
        compiler: C compiler for the stub.

    Raises:
        BuildError: The wheels do not hold what is expected of them.
    """
    root = unpacked / pins.root
    if not (root / "bin" / "nvcc").is_file():
        msg = f"{root} has no bin/nvcc: the wheels are laid out in another way than expected"
        raise BuildError(msg)
    root.rename(tree)
    for name in _NOT_TOOLKIT:
        shutil.rmtree(tree / name, ignore_errors=True)
    (tree / "lib64").symlink_to("lib")
    link_libraries(tree / "lib")
    stub.build(tree / "include" / "cuda.h", tree / "lib" / "stubs" / "libcuda.so", compiler)
    write_manifest(tree, pins, installed_versions(unpacked))


def link_libraries(directory: Path) -> None:
    """Give every ``libX.so.N`` the name ``libX.so`` that ``-lX`` needs."""
    for library in sorted(directory.iterdir()):
        match = _VERSIONED_LIBRARY.fullmatch(library.name)
        if match is None:
            continue
        link = directory / match["plain"]
        if not link.exists() and not link.is_symlink():
            link.symlink_to(library.name)


def installed_versions(unpacked: Path) -> dict[str, str]:
    """Return name and version of every distribution, from the names of its dist-info."""
    found: dict[str, str] = {}
    for entry in sorted(unpacked.glob("*.dist-info")):
        name, _, version = entry.name.removesuffix(".dist-info").partition("-")
        found[name.replace("_", "-").lower()] = version
    return found


def write_manifest(tree: Path, pins: Pins, versions: dict[str, str]) -> None:
    """Write ``version.json`` in the form that NVIDIA's installer writes it."""
    manifest = {"cuda": {"name": "CUDA Toolkit from PyPI", "version": pins.release}}
    for name, version in sorted(versions.items()):
        manifest[name] = {"name": name, "version": version}
    (tree / "version.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
