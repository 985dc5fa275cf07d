"""What is known of CUDA releases before they are installed."""

from __future__ import annotations

from itertools import pairwise

from packaging.version import Version

from dsv4_doctor.knowledge import load

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
