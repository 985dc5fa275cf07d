"""File systems, and the block devices under them."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.facts.resources import Disk
from dsv4_doctor.lazy_dataclass import dataclass
from dsv4_doctor.probes import files, pci_path

if TYPE_CHECKING:
    from collections.abc import Sequence

_SYS = Path("/sys")

# Types of file systems whose bytes do not come from a disk of this machine.
_NETWORK = frozenset(
    {"afs", "beegfs", "ceph", "cifs", "gpfs", "lustre", "nfs", "nfs4", "smb3", "wekafs"}
)
_HOST_SHARE = frozenset({"9p", "drvfs", "prl_fs", "vboxsf", "virtiofs", "vmhgfs"})
_MEMORY = frozenset({"ramfs", "tmpfs"})
# By the speed of a lane in GT/s, as sysfs writes it.
_GENERATIONS = {
    "2.5": "1.0",
    "5.0": "2.0",
    "8.0": "3.0",
    "16.0": "4.0",
    "32.0": "5.0",
    "64.0": "6.0",
}
_OCTAL = r"\\([0-7]{3})"
# A RAID on logical volumes on partitions: deeper than that is a loop.
_DEPTH = 6


@dataclass(frozen=True)
class Mount:
    """One mounted file system, from ``/proc/self/mountinfo``.

    Attributes:
        device: ``major:minor``.
        point: Where it is mounted.
        options: Of the mount, such as ``noexec``.
        filesystem: Its type.
        source: What was mounted, such as ``/dev/sda1``.
    """

    device: str
    point: str
    options: frozenset[str]
    filesystem: str
    source: str


def parse(text: str) -> tuple[Mount, ...]:
    """Read ``/proc/PID/mountinfo``; see proc_pid_mountinfo(5)."""
    mounts = []
    for line in text.splitlines():
        before, separator, after = line.partition(" - ")
        fields, rest = before.split(" "), after.split(" ")
        if not separator or len(fields) < 6 or len(rest) < 2:
            continue
        mounts.append(
            Mount(
                fields[2],
                _plain(fields[4]),
                frozenset(fields[5].split(",")),
                rest[0],
                _plain(rest[1]),
            )
        )
    return tuple(mounts)


def of(path: str, mounts: Sequence[Mount]) -> Mount | None:
    """Return the file system that holds a path, which must be absolute and without links.

    The last one mounted at a place hides those before it.
    """
    best: Mount | None = None
    for mount in mounts:
        inside = path == mount.point or path.startswith(mount.point.rstrip("/") + "/")
        if inside and (best is None or len(mount.point) >= len(best.point)):
            best = mount
    return best


def disk(mount: Mount, sys: Path = _SYS) -> Disk:
    """Return what lies under a file system.

    Args:
        mount: The file system.
        sys: Where sysfs is.
    """
    kind = mount.filesystem.removeprefix("fuse.")
    if kind in _NETWORK or (mount.filesystem.startswith("fuse.") and ":" in mount.source):
        return Disk(mount.source, "network")
    if kind in _HOST_SHARE:
        return Disk(mount.source, "host share")
    if kind in _MEMORY:
        return Disk("", "memory")
    block = _block(mount, sys)
    return _device(block, sys, _DEPTH) if block is not None else Disk()


def _plain(text: str) -> str:
    """Undo the escapes of blanks and the like, which are octal."""
    if "\\" not in text:
        return text
    return re.sub(_OCTAL, lambda match: chr(int(match[1], 8)), text)


def _block(mount: Mount, sys: Path) -> Path | None:
    """Return the block device in sysfs; Btrfs and overlays have a number of their own."""
    numbered = sys / "dev/block" / mount.device
    if files.is_directory(numbered):
        return numbered.resolve()
    if not mount.source.startswith("/dev/"):
        return None
    named = sys / "class/block" / os.path.realpath(mount.source).rpartition("/")[2]
    return named.resolve() if files.is_directory(named) else None


def _device(block: Path, sys: Path, depth: int) -> Disk:
    whole = block.parent if files.is_file(block / "partition") else block
    name = whole.name
    below = sorted(files.names(whole / "slaves"))
    if below and depth:
        level = (files.read(whole / "md/level") or "").strip() or None
        first = _device((sys / "class/block" / below[0]).resolve(), sys, depth - 1)
        kind = "raid" if level else first.kind
        return Disk(name, kind, first.link, level or first.raid, tuple(below))
    if name.startswith("nvme"):
        return Disk(name, "nvme", _nvme_link(whole))
    if re.match(r"vd[a-z]|xvd[a-z]|rbd\d|zd\d|loop\d", name):
        return Disk(name, "virtual")
    rotational = (files.read(whole / "queue/rotational") or "").strip()
    return Disk(name, {"0": "ssd", "1": "rotating"}.get(rotational, ""))


def _nvme_link(whole: Path) -> str | None:
    link = pci_path.link(whole / "device/device")
    speed, width = link["link_speed"], link["link_width"]
    if not speed or not width:
        return None
    generation = _GENERATIONS.get(speed.partition(" ")[0])
    return f"PCIe {generation} x{width}" if generation else f"{speed} x{width}"
