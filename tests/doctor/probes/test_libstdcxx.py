"""The C++ library that an interpreter loads."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_doctor.probes import libstdcxx

if TYPE_CHECKING:
    from pathlib import Path

SYSTEM = f"usr/lib/{os.uname().machine}-linux-gnu/libstdc++.so.6"


def write(path: Path, *versions: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\0" + b"\0".join(each.encode() for each in versions) + b"\0")
    return path


def test_the_order_of_the_search(tmp_path: Path) -> None:
    base = tmp_path / "conda"
    found: list[Path | None] = [libstdcxx.find({}, base, tmp_path)]
    system = write(tmp_path / SYSTEM)
    found.append(libstdcxx.find({}, base, tmp_path))
    named = write(tmp_path / "given/libstdc++.so.6")
    environ = {"LD_LIBRARY_PATH": f"/gone:{named.parent}"}
    found.append(libstdcxx.find(environ, base, tmp_path))
    beside = write(base / "lib/libstdc++.so.6")
    found.append(libstdcxx.find(environ, base, tmp_path))
    loaded = write(tmp_path / "nsight/libstdc++.so.6.0.30")
    environ["LD_PRELOAD"] = f"/lib/other.so:{loaded}"
    found.append(libstdcxx.find(environ, base, tmp_path))
    assert found == [None, system, named, beside, loaded]


def test_versions_compare_as_numbers(tmp_path: Path) -> None:
    names = ("GLIBCXX_3.4.9", "GLIBCXX_3.4.29", "GLIBCXX_DEBUG_X", "CXXABI_1.3.13", "CXXABI_1.3.9")
    path = write(tmp_path / "lib", *names, "not GLIBCXX_3.4.99 here")
    assert libstdcxx.versions(path) == {"GLIBCXX": "3.4.29", "CXXABI": "1.3.13"}
    assert libstdcxx.versions(tmp_path / "gone") == {}


@given(st.binary(max_size=300))
def test_any_content(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("lib") / "libstdc++.so.6"
    path.write_bytes(data + b"\0GLIBCXX_3.4.1\0")
    assert libstdcxx.versions(path)["GLIBCXX"]
