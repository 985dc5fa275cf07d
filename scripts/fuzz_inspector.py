#!/usr/bin/env python3
"""Fuzzes the inspector's parsers with atheris, guided by coverage.

    pip install atheris
    scripts/fuzz_inspector.py CORPUS -max_total_time=600 -rss_limit_mb=1024 -timeout=20

Takes libFuzzer's options. CORPUS is a directory; an empty one is filled with small files of every
kind. An input may end in a result or in the inspector's own error; anything else is a finding,
and so is one that takes too long or too much memory.
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "doctor")]

atheris = importlib.import_module("atheris")

with atheris.instrument_imports(include=["dsv4_doctor.binary", "dsv4_doctor.images"]):
    from tests.doctor.binary.builders import FIXTURES, Entry, Wheel, ar, kernels, library
    from tests.doctor.binary.linking import Want, shared
    from tests.doctor.images.builders import Image, layer

    from dsv4_doctor.binary.difference import compare
    from dsv4_doctor.binary.inspection import Options, inspect_path
    from dsv4_doctor.errors import InputError
    from dsv4_doctor.images.inspection import inspect_image

FOLDER = Path(tempfile.mkdtemp())
INPUT, SEED = FOLDER / "input.whl", FOLDER / "seed"
EVERYTHING = Options(kernels=True, linkage=True)
METADATA = {
    "x-1.dist-info/METADATA": b"Name: x\nVersion: 1\nRequires-Dist: torch==2.11\n",
    "x-1.dist-info/WHEEL": b"Wheel-Version: 1.0\nTag: cp38-abi3-manylinux_2_28_x86_64\n",
}


def seeds() -> dict[str, bytes]:
    """Return a small file of every kind that is read."""
    small = library(kernels("sm_80", "f"), Entry("sm_90", kind=1), kernels("sm_90a", "g"))
    linked = shared(
        Want("memcpy", "libc.so.6", "GLIBC_2.14"), "_ZN3c105ErrorE", needed=("libc10.so",)
    )
    members = {"v/_C.so": small, "v/b.so": linked, **METADATA}
    return {
        "small.so": small,
        "linked.so": linked,
        "small.a": ar(("one.o", small), ("a_very_long_name_of_a_member.o", small)),
        "deflated.whl": Wheel(members=members).data(),
        "stored.whl": Wheel(zipfile.ZIP_STORED, members).data(),
        **{
            f"{packed}.image": layer(Image([layer(members)], compression=packed).files())
            for packed in ("none", "gzip", "zstd")
        },
        **{name: (FIXTURES / name).read_bytes() for name in ("lz4.o", "zstd.o", "none.so")},
    }


def one_input(data: bytes) -> None:
    """Read everything that an input can hold, and compare it with what it was made from."""
    INPUT.write_bytes(data)
    outcome(lambda: inspect_path(INPUT, EVERYTHING))
    outcome(lambda: inspect_image(INPUT, EVERYTHING))
    outcome(lambda: compare(SEED, INPUT, kernels=True))


def outcome(read: Callable[[], object]) -> None:
    """Let a read end in a result or in an error that names the file."""
    try:
        read()
    except InputError as error:
        if str(FOLDER) not in str(error):
            raise AssertionError(error) from error


def main() -> None:
    """Fill the corpus if it is empty, and fuzz."""
    for folder in (Path(each) for each in sys.argv[1:] if not each.startswith("-")):
        folder.mkdir(parents=True, exist_ok=True)
        if not any(folder.iterdir()):
            for name, data in seeds().items():
                (folder / name).write_bytes(data)
    SEED.write_bytes(seeds()[os.environ.get("FUZZ_SEED", "small.so")])
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
