"""NVSwitches, and whether the fabric manager is there, runs, and which one it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.doctor.probes.fakes import program

from dsv4_doctor.facts.driver import Fabric
from dsv4_doctor.probes import fabric

if TYPE_CHECKING:
    from pathlib import Path


def nowhere(_name: str) -> None:
    return None


def process(root: Path, number: int, name: str) -> None:
    directory = root / str(number)
    directory.mkdir(parents=True)
    (directory / "comm").write_text(f"{name}\n")


def switches(root: Path, count: int = 4) -> None:
    for index in range(count):
        (root / f"driver/nvidia-nvswitch/devices/0000:0{index}:00.0").mkdir(parents=True)


def test_without_a_switch_nobody_is_asked(tmp_path: Path) -> None:
    assert fabric.survey(tmp_path, tmp_path, find=nowhere) is None


def test_a_manager_that_runs(tmp_path: Path) -> None:
    switches(tmp_path)
    process(tmp_path, 7, "nv-fabricmanage")
    place = str(
        program(tmp_path / "nv-fabricmanager", "echo 'Fabric Manager version is : 550.90.07'")
    )
    found = fabric.survey(tmp_path, tmp_path, find=lambda _name: place)
    assert found == Fabric(4, place, "550.90.07", running=True)


def test_none_installed(tmp_path: Path) -> None:
    switches(tmp_path)
    process(tmp_path, 1, "systemd")
    assert fabric.survey(tmp_path, tmp_path, find=nowhere) == Fabric(4, None, None, running=False)


def test_a_container_does_not_see_the_manager_of_its_machine(tmp_path: Path) -> None:
    switches(tmp_path)
    found = fabric.survey(tmp_path, tmp_path, container=True, find=nowhere)
    assert found == Fabric(4, None, None, running=None)


def test_switches_without_their_driver_are_bridges(tmp_path: Path) -> None:
    for address, vendor, kind in (
        ("0000:01:00.0", "0x10de", "0x068000"),
        ("0000:02:00.0", "0x8086", "0x068000"),
        ("0000:03:00.0", "0x10de", "0x030200"),
    ):
        device = tmp_path / "bus/pci/devices" / address
        device.mkdir(parents=True)
        (device / "vendor").write_text(f"{vendor}\n")
        (device / "class").write_text(f"{kind}\n")
    found = fabric.survey(tmp_path / "proc", tmp_path, find=nowhere)
    assert found is not None
    assert found.switches == 1


def test_a_manager_that_says_nothing(tmp_path: Path) -> None:
    switches(tmp_path, 1)
    place = str(program(tmp_path / "nv-fabricmanager", "exit 1"))
    found = fabric.survey(tmp_path, tmp_path, find=lambda _name: place)
    assert found == Fabric(1, place, None, running=False)
