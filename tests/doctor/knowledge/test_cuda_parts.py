"""Which packages make up a CUDA release."""

from __future__ import annotations

import re

import pytest
from packaging.version import Version

from dsv4_build.toolchain.pins import cuda_13_0
from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.cuda_parts import cuda_parts, parts_of


def test_the_releases_are_in_order_and_none_stands_twice() -> None:
    versions = [Version(each.release) for each in cuda_parts()]
    assert versions == sorted(set(versions))


def test_every_known_toolkit_has_its_parts_and_the_other_way_round() -> None:
    minors = {".".join(each.release.split(".")[:2]) for each in cuda_parts()}
    assert minors == {each.name for each in load.toolkit_releases()}


@pytest.mark.parametrize("release", [each.release for each in cuda_parts()])
def test_the_compiler_is_that_of_the_release(release: str) -> None:
    found = parts_of(release)
    assert found is not None
    assert found.release == release
    suffix = f"-cu{Version(release).major}" if Version(release).major < 13 else ""
    for part in ("nvcc", "runtime", "nvrtc"):
        version = found.parts[f"nvidia-cuda-{part}{suffix}"]
        assert Version(version).release[:2] == Version(release).release[:2]
    assert all(re.fullmatch(r"\d+(\.\d+)+", each) for each in found.parts.values())


@pytest.mark.parametrize(
    ("cuda", "release"),
    [
        ("13.0", "13.0.3.0"),
        ("13.0.2", "13.0.2"),
        ("12.8", "12.8.2.0"),
        ("12.7", None),
        ("13", None),
    ],
)
def test_by_the_version_of_cuda(cuda: str, release: str | None) -> None:
    found = parts_of(cuda)
    assert (found.release if found else None) == release


def test_the_toolkit_that_is_assembled_is_one_release() -> None:
    pins = cuda_13_0()
    found = parts_of(pins.release)
    assert found is not None
    for part in pins.parts:
        assert found.parts[part.name] == part.version
