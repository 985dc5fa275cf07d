"""What is known of CUDA releases before they are installed."""

from __future__ import annotations

from itertools import pairwise

import pytest
from packaging.version import Version

from dsv4_doctor.arch import Arch
from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.model import ANY_VERSION

TOOLKITS = {each.name: each for each in load.toolkit_releases()}


def test_the_toolkits_are_in_order_and_none_stands_twice() -> None:
    versions = [Version(each.name) for each in load.toolkit_releases()]
    assert versions == sorted(set(versions))


def test_a_newer_toolkit_never_takes_less() -> None:
    for older, newer in pairwise(load.toolkit_releases()):
        assert (newer.gcc_max or 0) >= (older.gcc_max or 0)
        assert Version(newer.ptx or "0") >= Version(older.ptx or "0")
        if older.driver_min and newer.driver_min:
            assert Version(newer.driver_min) > Version(older.driver_min)


def test_a_value_has_its_place() -> None:
    for each in load.toolkit_releases():
        assert each.place.line
        assert (each.driver_place is None) is (each.driver_min is None)
        assert (each.ptx_place is None) is (each.ptx is None)
        assert (each.archs_place is None) is (not each.archs)


def test_the_architectures_of_the_toolkits() -> None:
    for each in load.toolkit_releases():
        assert list(each.archs) == sorted(set(each.archs))
        # Kepler is older than anything that a release of vLLM compiles for.
        assert {arch.base for arch in each.archs if arch.number >= 50} <= set(load.known_archs())
    first = {
        sm: next(each.name for each in load.toolkit_releases() if Arch.parse(sm) in each.archs)
        for sm in ("sm_90a", "sm_100", "sm_100f", "sm_103", "sm_107", "sm_120", "sm_121")
    }
    assert first == {
        "sm_90a": "12.0",
        "sm_100": "12.8",
        "sm_100f": "12.9",
        "sm_103": "12.9",
        "sm_107": "13.4",
        "sm_120": "12.8",
        "sm_121": "12.9",
    }
    assert Arch.parse("sm_70") in TOOLKITS["12.9"].archs
    assert Arch.parse("sm_70") not in TOOLKITS["13.0"].archs


@pytest.mark.parametrize("name", load.release_names())
def test_the_toolkit_of_a_releases_wheel_compiles_what_it_lists(name: str) -> None:
    release = load.release(name)
    listed = release.archs_for(release.main_cuda.value)
    assert listed is not None
    if listed.nvcc != ANY_VERSION:  # A list without a condition is for newer compilers, too.
        archs = TOOLKITS[release.main_cuda.value].archs
        assert set(listed.archs) <= {arch.base for arch in archs}


def test_the_compiler_ceiling_of_some_toolkits() -> None:
    ceilings = {name: TOOLKITS[name].gcc_max for name in ("11.8", "12.2", "12.4", "12.8", "13.0")}
    assert ceilings == {"11.8": 11, "12.2": 12, "12.4": 13, "12.8": 14, "13.0": 15}


def test_the_oldest_driver_of_a_major_version() -> None:
    floors = {each.cuda_major: each.driver for each in load.driver_floors()}
    assert floors == {11: "450", 12: "525", 13: "580"}


def test_the_driver_of_a_toolkit_runs_its_major_version() -> None:
    floors = {each.cuda_major: Version(each.driver) for each in load.driver_floors()}
    for each in load.toolkit_releases():
        if each.driver_min:
            assert Version(each.driver_min) >= floors[Version(each.name).major]


def test_the_projects_floor_and_every_default_toolkit_are_known() -> None:
    assert load.project().cuda_minimum.value == "12.2"
    assert load.project().cuda_minimum.value in TOOLKITS
    for name in load.release_names():
        assert load.release(name).main_cuda.value in TOOLKITS
        wheel = load.release(name).torch_cuda
        assert wheel is not None
        assert wheel.value in TOOLKITS
