"""File systems and the devices under them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_doctor.facts.resources import Disk
from dsv4_doctor.probes import mounts
from dsv4_doctor.probes.mounts import Mount

if TYPE_CHECKING:
    from pathlib import Path

TABLE = r"""
22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw
30 22 0:30 / /data\040one rw,noexec - nfs4 server:/export rw
31 22 0:31 / /data rw - tmpfs tmpfs rw
32 22 0:32 / /data ro,nosuid - xfs /dev/md0 rw
broken line
"""


def test_the_table() -> None:
    found = mounts.parse(TABLE)
    assert [each.point for each in found] == ["/", "/data one", "/data", "/data"]
    assert found[1] == Mount(
        "0:30", "/data one", frozenset({"rw", "noexec"}), "nfs4", "server:/export"
    )


@pytest.mark.parametrize(
    ("path", "filesystem"),
    [
        ("/data/x", "xfs"),
        ("/data", "xfs"),
        ("/database", "ext4"),
        ("/", "ext4"),
        ("/data one/x", "nfs4"),
    ],
)
def test_the_file_system_of_a_path(path: str, filesystem: str) -> None:
    found = mounts.of(path, mounts.parse(TABLE))
    assert found is not None
    assert found.filesystem == filesystem


def test_no_table_no_file_system() -> None:
    assert mounts.of("/x", ()) is None


@given(st.text())
def test_any_text_as_table(text: str) -> None:
    for mount in mounts.parse(text):
        assert mounts.of(mount.point, [mount]) == mount


def mounted(device: str, filesystem: str = "ext4", source: str = "/dev/x") -> Mount:
    return Mount(device, "/", frozenset(), filesystem, source)


def block(sys: Path, name: str, device: str, **attributes: str) -> Path:
    """Write one block device into a sysfs of our own."""
    directory = sys / "devices" / name
    directory.mkdir(parents=True)
    for each, value in attributes.items():
        place = directory / each.replace("__", "/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"{value}\n")
    for listed, key in (("dev/block", device), ("class/block", name.rpartition("/")[2])):
        (sys / listed).mkdir(parents=True, exist_ok=True)
        (sys / listed / key).symlink_to(directory)
    return directory


@pytest.mark.parametrize(
    ("name", "rotational", "kind"),
    [("sda", "1", "rotating"), ("sdb", "0", "ssd"), ("vda", "1", "virtual"), ("sdc", "?", "")],
)
def test_kinds_of_disks(tmp_path: Path, name: str, rotational: str, kind: str) -> None:
    block(tmp_path, name, "8:0", queue__rotational=rotational)
    assert mounts.disk(mounted("8:0"), tmp_path) == Disk(name, kind)


def test_a_partition_is_on_its_disk(tmp_path: Path) -> None:
    block(tmp_path, "sda", "8:0", queue__rotational="1")
    block(tmp_path, "sda/sda1", "8:1", partition="1")
    assert mounts.disk(mounted("8:1"), tmp_path) == Disk("sda", "rotating")


def test_the_link_of_an_nvme_drive(tmp_path: Path) -> None:
    drive = block(tmp_path, "nvme0n1", "259:0")
    port = drive / "device/device"
    port.mkdir(parents=True)
    (port / "current_link_speed").write_text("16.0 GT/s PCIe\n")
    (port / "current_link_width").write_text("4\n")
    assert mounts.disk(mounted("259:0"), tmp_path) == Disk("nvme0n1", "nvme", "PCIe 4.0 x4")


def test_a_raid_and_what_it_is_made_of(tmp_path: Path) -> None:
    for index in range(2):
        block(tmp_path, f"nvme{index}n1", f"259:{index}")
    raid = block(tmp_path, "md0", "9:0", md__level="raid0")
    for index in range(2):
        (raid / "slaves").mkdir(exist_ok=True)
        (raid / "slaves" / f"nvme{index}n1").touch()
    assert mounts.disk(mounted("9:0"), tmp_path) == Disk(
        "md0", "raid", None, "raid0", ("nvme0n1", "nvme1n1")
    )


def test_a_logical_volume_is_what_its_disk_is(tmp_path: Path) -> None:
    block(tmp_path, "sda", "8:0", queue__rotational="0")
    volume = block(tmp_path, "dm-0", "253:0")
    (volume / "slaves").mkdir()
    (volume / "slaves/sda").touch()
    assert mounts.disk(mounted("253:0"), tmp_path) == Disk("dm-0", "ssd", members=("sda",))


def test_a_file_system_with_a_number_of_its_own(tmp_path: Path) -> None:
    block(tmp_path, "sda", "8:0", queue__rotational="0")
    assert mounts.disk(mounted("0:44", "btrfs", "/dev/sda"), tmp_path) == Disk("sda", "ssd")
    assert mounts.disk(mounted("0:45", "overlay", "overlay"), tmp_path) == Disk()


@pytest.mark.parametrize(
    ("filesystem", "source", "kind"),
    [
        ("nfs4", "server:/x", "network"),
        ("fuse.sshfs", "me@host:/x", "network"),
        ("lustre", "mgs:/x", "network"),
        ("9p", "C:\\", "host share"),
        ("virtiofs", "share", "host share"),
        ("tmpfs", "tmpfs", "memory"),
    ],
)
def test_what_is_no_disk(tmp_path: Path, filesystem: str, source: str, kind: str) -> None:
    assert mounts.disk(mounted("0:50", filesystem, source), tmp_path).kind == kind
