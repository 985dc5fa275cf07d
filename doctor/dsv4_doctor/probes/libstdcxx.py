"""The C++ library that an interpreter loads, and the newest versions that it has."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.probes import files, programs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_NAME = "libstdc++.so.6"
# Those of gcc 8 to 15 have 2 MB.
_MAX_SIZE = 32 << 20
# One for each family: with its name in front the library is searched 20 times as fast as by one
# expression for both.
_VERSIONS = {
    "GLIBCXX": re.compile(rb"GLIBCXX_(\d+(?:\.\d+)+)\0"),
    "CXXABI": re.compile(rb"CXXABI_(\d+(?:\.\d+)+)\0"),
}


def find(environ: Mapping[str, str], base: Path, filesystem: Path = Path("/")) -> Path | None:
    """Return the library that an interpreter loads, by the order of the dynamic linker's search.

    A conda interpreter finds the one beside it by its own RPATH, before every other place but
    ``LD_PRELOAD``.

    Args:
        environ: Environment variables.
        base: Prefix of the interpreter's installation.
        filesystem: Where ``/usr/lib`` is.
    """
    return files.first_file(_candidates(environ, base, filesystem))


def versions(library: Path) -> dict[str, str]:
    """Return the newest version of each family that a library defines, by family."""
    try:
        with library.open("rb") as file:
            content = file.read(_MAX_SIZE)
    except OSError:
        return {}
    found = {name: pattern.findall(content) for name, pattern in _VERSIONS.items()}
    return {
        name: max((number.decode("ascii") for number in numbers), key=_key)
        for name, numbers in found.items()
        if numbers
    }


def _candidates(environ: Mapping[str, str], base: Path, filesystem: Path) -> Iterator[Path]:
    for each in re.split(r"[: ]", environ.get("LD_PRELOAD", "")):
        if Path(each).name.startswith(_NAME):
            yield Path(each)
    yield base / "lib" / _NAME
    for directory in programs.directories(environ, "LD_LIBRARY_PATH"):
        yield Path(directory, _NAME)
    machine = os.uname().machine
    for directory in (f"usr/lib/{machine}-linux-gnu", "usr/lib64", "lib64", "usr/lib", "lib"):
        yield filesystem / directory / _NAME


def _key(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))
