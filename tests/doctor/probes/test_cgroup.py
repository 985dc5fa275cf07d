"""Limits of cgroup version 2 and version 1, inside and outside of a container."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_doctor.probes import cgroup
from dsv4_doctor.probes.cgroup import Limits

if TYPE_CHECKING:
    from pathlib import Path

GIB = 1 << 30
NO_LIMIT_V1 = 9223372036854771712


def limits(root: Path, membership: str, **files: str) -> Limits:
    """Write a membership and files of groups (``a__b`` is ``a/b``), and read the limits."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(membership)
    for name, text in files.items():
        path = root / "sys/fs/cgroup" / name.replace("__", "/").replace("-", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return cgroup.limits(root / "proc", root / "sys")


def test_a_container_of_version_2(tmp_path: Path) -> None:
    found = limits(
        tmp_path,
        "0::/\n",
        **{
            "cpu-max": "250000 100000",
            "memory-max": str(64 * GIB),
            "memory-current": str(20 * GIB),
            "memory-stat": f"anon 1\ninactive_file {5 * GIB}\nactive_file 7",
        },
    )
    assert found == Limits(cpus=2.5, memory=64 * GIB, memory_free=49 * GIB)


def test_the_tightest_of_the_groups_above_holds(tmp_path: Path) -> None:
    found = limits(
        tmp_path,
        "0::/system.slice/job.service\n",
        **{
            "system.slice__job.service__cpu-max": "max 100000",
            "system.slice__cpu-max": "400000 100000",
            "system.slice__job.service__memory-max": str(8 * GIB),
            "system.slice__memory-max": str(4 * GIB),
            "system.slice__memory-current": str(3 * GIB),
        },
    )
    assert found == Limits(cpus=4.0, memory=4 * GIB, memory_free=GIB)


def test_version_1_by_controller(tmp_path: Path) -> None:
    found = limits(
        tmp_path,
        "4:memory:/job\n3:cpu,cpuacct:/\n1:name=systemd:/\n",
        **{
            "memory__job__memory-limit_in_bytes": str(2 * GIB),
            "memory__job__memory-usage_in_bytes": str(GIB),
            "memory__memory-limit_in_bytes": str(NO_LIMIT_V1),
            "cpu,cpuacct__cpu-cfs_quota_us": "150000",
            "cpu,cpuacct__cpu-cfs_period_us": "100000",
        },
    )
    assert found == Limits(cpus=1.5, memory=2 * GIB, memory_free=GIB)


def test_a_path_of_the_host_that_the_container_does_not_see(tmp_path: Path) -> None:
    found = limits(tmp_path, "0::/docker/0123\n", **{"memory-max": str(GIB)})
    assert found.memory == GIB


def test_no_limits(tmp_path: Path) -> None:
    found = limits(
        tmp_path,
        "2:memory:/\n0::/\n",
        **{
            "cpu-max": "max 100000",
            "memory-max": "max",
            "memory__memory-limit_in_bytes": str(NO_LIMIT_V1),
            "cpu__cpu-cfs_quota_us": "-1",
            "cpu__cpu-cfs_period_us": "100000",
        },
    )
    assert found == Limits(None, None, None)


def test_no_cgroups_at_all(tmp_path: Path) -> None:
    assert cgroup.limits(tmp_path / "proc", tmp_path / "sys") == Limits(None, None, None)


def test_a_path_cannot_lead_out_of_the_mount(tmp_path: Path) -> None:
    (tmp_path / "sys/fs").mkdir(parents=True)
    (tmp_path / "sys/fs/memory.max").write_text("1\n")
    assert limits(tmp_path, "0::/../\n", **{"memory-max": "max"}).memory is None


def test_more_used_than_allowed_leaves_nothing(tmp_path: Path) -> None:
    found = limits(tmp_path, "0::/\n", **{"memory-max": "100", "memory-current": "200"})
    assert found.memory_free == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [("200000 100000", 2.0), ("max 100000", None), ("0 100000", None), ("1 0", None), ("", None)],
)
def test_cpu_max(text: str, expected: float | None) -> None:
    assert cgroup.parse_cpu_max(text) == expected


@pytest.mark.parametrize(("cpus", "expected"), [(0.1, 1), (1.0, 1), (1.5, 2), (64.0, 64)])
def test_whole_processors(cpus: float, expected: int) -> None:
    assert cgroup.whole(cpus) == expected


@given(st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    cgroup.parse_membership(text)
    cgroup.parse_cpu_max(text)
    cgroup.parse_cache(text)
    limit = cgroup.parse_limit(text)
    assert limit is None or limit >= 0
