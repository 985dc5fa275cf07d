"""The host: distribution, memory within its limits, containers."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_doctor.probes import host

UBUNTU = """\
PRETTY_NAME="Ubuntu 24.04.3 LTS"
NAME="Ubuntu"
VERSION_ID="24.04"
# a comment
ID=ubuntu
ID_LIKE=debian
"""
MEMINFO = """\
MemTotal:       264241152 kB
MemFree:         1048576 kB
MemAvailable:   251658240 kB
HugePages_Total:       0
"""


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_machine(tmp_path: Path) -> None:
    write(tmp_path, "etc/os-release", UBUNTU)
    write(tmp_path, "proc/meminfo", MEMINFO)
    found = host.survey(tmp_path)
    assert (found.distribution, found.distribution_version) == ("ubuntu", "24.04")
    assert found.memory == 264241152 * 1024
    assert found.memory_available == 251658240 * 1024
    assert found.container is None
    assert found.cpus == len(os.sched_getaffinity(0))
    assert (found.machine, found.kernel) == (os.uname().machine, os.uname().release)
    assert found.root is (os.geteuid() == 0)


def test_a_container_is_as_large_as_its_limits(tmp_path: Path) -> None:
    write(tmp_path, "proc/meminfo", MEMINFO)
    write(tmp_path, "proc/self/cgroup", "0::/\n")
    write(tmp_path, "sys/fs/cgroup/cpu.max", "50000 100000\n")
    write(tmp_path, "sys/fs/cgroup/memory.max", f"{1 << 30}\n")
    write(tmp_path, "sys/fs/cgroup/memory.current", f"{1 << 29}\n")
    found = host.survey(tmp_path)
    assert found.cpus == 1
    assert (found.memory, found.memory_available) == (1 << 30, 1 << 29)


def test_a_machine_that_tells_nothing(tmp_path: Path) -> None:
    found = host.survey(tmp_path)
    assert (found.distribution, found.distribution_version) == ("", "")
    assert (found.memory, found.memory_available, found.container) == (None, None, None)


def test_the_second_place_of_os_release(tmp_path: Path) -> None:
    write(tmp_path, "usr/lib/os-release", "ID='debian'\n")
    assert host.survey(tmp_path).distribution == "debian"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('ID=ubuntu\nVERSION_ID="24.04"\n', ("ubuntu", "24.04")),
        ("ID='rhel'\nVERSION_ID='9.4'\n", ("rhel", "9.4")),
        ("ID=arch\n", ("arch", "")),
        ("ID=almalinux\r\nVERSION_ID=9.4 # a comment\n", ("almalinux", "9.4")),
        ('NAME="a \\"b\\""\nID=\nVERSION_ID=\n', ("", "")),
        ("ID=a\nID=b\n=c\n1=d\n", ("b", "")),
        ('ID="open', ("", "")),
        ("\x00\x01", ("", "")),
    ],
)
def test_os_release(tmp_path: Path, text: str, expected: tuple[str, str]) -> None:
    write(tmp_path, "etc/os-release", text)
    found = host.survey(tmp_path)
    assert (found.distribution, found.distribution_version) == expected


_WORDS = st.sampled_from([*sorted(host._PLAIN), "ol", "opensuse-leap", "linux mint", ""])
_NUMBERS = st.from_regex(r"[0-9]{1,2}(\\.[0-9]{1,2})?|rolling|", fullmatch=True)
_QUOTES = st.sampled_from(["", "'", '"', "\\"])


@given(_WORDS, _NUMBERS, _QUOTES, st.sampled_from(["", "ID=debian\n", 'NAME="a\nID=fedora"\n']))
def test_the_short_way_says_what_distro_says(
    name: str, number: str, quote: str, before: str
) -> None:
    with tempfile.TemporaryDirectory() as place:
        text = f"{before}ID={quote}{name}{quote}\nVERSION_ID={quote}{number}{quote}\n"
        write(Path(place), "etc/os-release", text)
        assert host._distribution(Path(place)) == host._found_by_distro(Path(place))


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (".dockerenv", "", "docker"),
        ("run/.containerenv", "", "podman"),
        ("run/systemd/container", "lxc\n", "lxc"),
        ("run/secrets/kubernetes.io/serviceaccount/namespace", "x", "kubernetes"),
        ("proc/1/cgroup", "0::/kubepods/burstable/pod1\n", "kubernetes"),
        ("proc/1/cgroup", "4:memory:/docker/0123\n", "docker"),
        ("proc/1/cgroup", "0::/machine.slice/libpod-1.scope\n", "podman"),
        ("proc/1/cgroup", "0::/init.scope\n", None),
    ],
)
def test_containers(tmp_path: Path, name: str, text: str, expected: str | None) -> None:
    write(tmp_path, name, text)
    assert host.container(tmp_path) == expected


@pytest.mark.parametrize("failure", [ValueError, OSError])
def test_another_c_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: type[Exception]
) -> None:
    def confstr(_name: str) -> str:
        raise failure

    monkeypatch.setattr(os, "confstr", confstr)
    assert host.survey(tmp_path).glibc is None


def test_glibc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "confstr", {"CS_GNU_LIBC_VERSION": "glibc 2.39"}.get)
    assert host.survey(tmp_path).glibc == "2.39"


@given(st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    assert all(value >= 0 for value in host.parse_meminfo(text).values())


@pytest.mark.parametrize(
    ("line", "kernel", "expected"),
    [
        ("# R36 (release), REVISION: 3.0, GCID: 1, BOARD: generic\n", "5.15.136-tegra", "R36.3.0"),
        ("something else\n", "5.15.136-tegra", ""),
        (None, "5.15.136-tegra", ""),
        (None, "6.8.0-31-generic", None),
    ],
)
def test_a_jetson(tmp_path: Path, line: str | None, kernel: str, expected: str | None) -> None:
    if line is not None:
        write(tmp_path, "etc/nv_tegra_release", line)
    assert host.tegra(tmp_path, kernel) == expected


def test_nodes_of_memory(tmp_path: Path) -> None:
    for name in ("node0", "node1"):
        (tmp_path / "sys/devices/system/node" / name).mkdir(parents=True)
    write(tmp_path, "sys/devices/system/node/possible", "0-1")
    assert host.survey(tmp_path).numa_nodes == 2


@pytest.mark.parametrize(("last", "expected"), [("\x01", True), ("\x00", False), ("", None)])
def test_secure_boot(tmp_path: Path, last: str, expected: bool | None) -> None:
    name = "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
    write(tmp_path, name, f"\x06\x00\x00\x00{last}")
    assert host.survey(tmp_path).secure_boot is expected
