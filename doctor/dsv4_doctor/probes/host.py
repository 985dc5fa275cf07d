"""The machine under the GPUs: operating system, processors, memory, container."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.facts.host import Host
from dsv4_doctor.probes import cgroup, files

if TYPE_CHECKING:
    from dsv4_doctor.probes.registry import Request

_FILESYSTEM = Path("/")

# Files that a container runtime puts into every container, and its name.
_MARKERS = (
    ("run/.containerenv", "podman"),
    ("run/secrets/kubernetes.io", "kubernetes"),
    (".dockerenv", "docker"),
)
_RUNTIMES = re.compile(r"kubepods|docker|containerd|libpod|lxc|garden")
_NAMES = {"kubepods": "kubernetes", "libpod": "podman"}

# Distributions whose name ``distro`` gives as the first of these files writes it. Loading it takes
# as long as all else that is asked of the machine, so the others only wait for it.
_PLAIN = frozenset(("almalinux", "debian", "fedora", "rhel", "rocky", "ubuntu"))
_OS_RELEASE = ("etc/os-release", "usr/lib/os-release")
_TOLD = re.compile(r"^(ID|VERSION_ID)=(.*)$", re.MULTILINE)
_WORD = re.compile(r"""(["']?)([a-z0-9.]+)\1""")


def probe(_request: Request) -> Host:
    """Read the machine."""
    return survey()


def survey(filesystem: Path = _FILESYSTEM) -> Host:
    """Read the machine.

    Args:
        filesystem: Where ``/etc``, ``/proc``, ``/run`` and ``/sys`` are.
    """
    system = os.uname()
    distribution, version = _distribution(filesystem)
    limits = cgroup.limits(filesystem / "proc", filesystem / "sys")
    memory = parse_meminfo(files.read(filesystem / "proc/meminfo") or "")
    cpus = len(os.sched_getaffinity(0))
    return Host(
        hostname=system.nodename,
        kernel=system.release,
        machine=system.machine,
        distribution=distribution,
        distribution_version=version,
        glibc=_glibc(),
        cpus=min(cpus, cgroup.whole(limits.cpus)) if limits.cpus is not None else cpus,
        memory=_least(memory.get("MemTotal"), limits.memory),
        memory_available=_least(memory.get("MemAvailable"), limits.memory_free),
        container=container(filesystem),
        root=os.geteuid() == 0,
        numa_nodes=_numa_nodes(filesystem / "sys"),
        wsl="microsoft" in system.release.lower(),
        tegra=tegra(filesystem, system.release),
        secure_boot=_secure_boot(filesystem / "sys"),
    )


def parse_meminfo(text: str) -> dict[str, int]:
    """Read ``/proc/meminfo`` into bytes."""
    lines = re.findall(r"^(\w+):[ \t]+(\d{1,18}) kB$", text, re.MULTILINE)
    return {name: int(number) << 10 for name, number in lines}


def container(filesystem: Path = _FILESYSTEM) -> str | None:
    """Return the name of the container runtime, ``None`` on a machine of its own."""
    named = (files.read(filesystem / "run/systemd/container") or "").strip()
    if named:
        return named
    for marker, name in _MARKERS:
        if files.exists(filesystem / marker):
            return name
    match = _RUNTIMES.search(files.read(filesystem / "proc/1/cgroup") or "")
    return _NAMES.get(match[0], match[0]) if match else None


def tegra(filesystem: Path, kernel: str = "") -> str | None:
    """Return the release of Linux for Tegra; empty for a Jetson that does not tell, else ``None``.

    Args:
        filesystem: Where ``/etc`` is.
        kernel: As ``uname -r`` says.
    """
    line = files.read(filesystem / "etc/nv_tegra_release")
    if line is None:
        return "" if kernel.endswith("tegra") else None
    match = re.search(r"R(\d+) \(release\), REVISION: ([\d.]+)", line)
    return f"R{match[1]}.{match[2]}" if match else ""


def _secure_boot(sys: Path) -> bool | None:
    """Return the last byte of the firmware's variable, which follows four of attributes."""
    variable = "firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
    text = files.read(sys / variable)
    return text[4] == "\x01" if text is not None and len(text) == 5 else None


def _numa_nodes(sys: Path) -> int | None:
    nodes = [name for name in files.names(sys / "devices/system/node") if name[:4] == "node"]
    return sum(name[4:].isdecimal() for name in nodes) or None


def _distribution(filesystem: Path) -> tuple[str, str]:
    """Return the identifier and the version of the distribution, empty where it tells none."""
    told = files.read(files.first_file(filesystem / each for each in _OS_RELEASE) or "") or ""
    lines = _TOLD.findall(told)
    words = {name: match[2] for name, text in lines if (match := _WORD.fullmatch(text))}
    if len(lines) == len(words) == 2 and words["ID"] in _PLAIN:
        return words["ID"], words["VERSION_ID"]
    return _found_by_distro(filesystem)


def _found_by_distro(filesystem: Path) -> tuple[str, str]:
    from distro import LinuxDistribution  # noqa: PLC0415

    system = LinuxDistribution(
        # Each of these would run a program; the files alone say it.
        include_lsb=False,
        include_uname=False,
        include_oslevel=False,
        root_dir=str(filesystem),
    )
    try:
        return system.id(), system.version()
    except (ValueError, OSError):
        return "", ""


def _glibc() -> str | None:
    """Return the version of glibc; another C library does not know the question."""
    try:
        text = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError):
        return None
    return text.partition(" ")[2] or None


def _least(*values: int | None) -> int | None:
    return min((value for value in values if value is not None), default=None)
