"""Checks of memory, disks, limits and caches, for a build and for a server."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.doctor.cases.build_resources import memory
from tests.doctor.checks.test_toolkit import findings
from tests.doctor.machines import bare, gpu, healthy, place, resources

from dsv4_doctor.facts.resources import CMakeCache, Disk
from dsv4_doctor.facts.topology import Topology
from dsv4_doctor.report import Finding
from dsv4_doctor.snapshot import Snapshot
from dsv4_doctor.target import Purpose

GIB = 1 << 30


def status(snapshot: Snapshot, identifier: str, purpose: Purpose = "build") -> str | None:
    found = findings(snapshot, purpose=purpose).get(identifier)
    return found.status if found else None


def serving(snapshot: Snapshot) -> dict[str, Finding]:
    return findings(snapshot, purpose="serve")


@pytest.mark.parametrize(
    ("cpus", "size", "environ", "expected"),
    [
        (32, 251, {}, "pass"),
        (2, 16, {}, "pass"),
        (64, 96, {}, "warn"),
        (64, 96, {"MAX_JOBS": "16"}, "pass"),
        (64, 96, {"MAX_JOBS": "many"}, "warn"),
        (64, 96, {"MAX_JOBS": "64", "NVCC_THREADS": "8"}, "pass"),
        (1, 8, {}, "fail"),
        (1, 12, {}, "pass"),
    ],
)
def test_memory_for_the_jobs(cpus: int, size: int, environ: dict[str, str], expected: str) -> None:
    machine = memory(cpus, size, environ)
    assert status(machine, "build.memory.jobs") == expected
    assert status(machine, "build.memory.jobs", "serve") is None


def test_threads_multiply_the_memory_of_a_job_where_there_are_several_architectures() -> None:
    machine = memory(16, 64, {"MAX_JOBS": "16", "NVCC_THREADS": "4"})
    one = findings(machine, archs=("sm_90",))["build.memory.jobs"]
    four = findings(machine, archs=("sm_80", "sm_90", "sm_100", "sm_120"))["build.memory.jobs"]
    assert one.status == "pass"
    assert four.status == "warn"
    assert "17.6 GB" in four.expected


def test_swap_holds_what_memory_does_not() -> None:
    small = memory(1, 8)
    assert status(replace(small, resources=resources(swap=8 * GIB)), "build.memory.jobs") != "fail"


def test_the_value_that_fits_is_given_and_then_fits() -> None:
    finding = findings(memory(64, 96))["build.memory.jobs"]
    assert finding.remedy is not None
    environ = finding.remedy.commands[0].env
    assert environ is not None
    assert status(memory(64, 96, environ), "build.memory.jobs") == "pass"


def test_memory_that_is_not_told() -> None:
    machine = healthy()
    assert machine.host is not None
    unknown = replace(machine, host=replace(machine.host, memory_available=None))
    assert status(unknown, "build.memory.jobs") is None


@pytest.mark.parametrize(
    ("free", "expected"), [(1 * GIB, "warn"), (50 * GIB, "pass"), (None, None)]
)
def test_disk_for_a_build(free: int | None, expected: str | None) -> None:
    tight = resources(place("temporary", "/tmp", free=free), place("build", "/src", free=free))
    assert status(healthy(resources=tight), "build.disk.space") == expected


@pytest.mark.parametrize(("files", "expected"), [(7, "warn"), (10**6, "pass"), (None, "pass")])
def test_a_disk_without_room_for_files(files: int | None, expected: str) -> None:
    full = resources(place("build", "/src/vllm", files_free=files))
    assert status(healthy(resources=full), "build.disk.space") == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [({}, None), ({"executable": False}, "fail"), ({"writable": False}, "fail")],
)
def test_temporary_files_are_written_and_run(changes: dict[str, Any], expected: str | None) -> None:
    machine = healthy(resources=resources(place("temporary", "/tmp", **changes)))
    assert status(machine, "build.place.usable") == expected
    assert status(machine, "build.place.usable", "serve") is None


@pytest.mark.parametrize(
    ("disk", "expected"),
    [
        (Disk("C:", "host share"), "warn"),
        (Disk("server:/x", "network"), "warn"),
        (Disk("nvme0n1", "nvme"), None),
        (None, None),
    ],
)
def test_a_build_on_a_shared_directory(disk: Disk | None, expected: str | None) -> None:
    machine = healthy(resources=resources(place("build", "/mnt/c/vllm", disk=disk)))
    assert status(machine, "build.disk.kind") == expected
    assert status(machine, "build.disk.kind", "serve") is None


def test_remains_of_a_build() -> None:
    good = resources(cmake_caches=(CMakeCache("/src/build/CMakeCache.txt"),))
    assert status(healthy(resources=good), "build.cache.stale") is None
    bad = resources(cmake_caches=(CMakeCache("/src/build/CMakeCache.txt", ("CMAKE_COMMAND=/x",)),))
    assert status(healthy(resources=bad), "build.cache.stale") == "fail"


def test_a_build_is_told_its_architectures() -> None:
    assert findings(bare(), archs=())["build.archs.chosen"].status == "warn"
    named = bare(environment={"TORCH_CUDA_ARCH_LIST": "9.0a"})
    assert "build.archs.chosen" not in findings(named, archs=())
    assert "build.archs.chosen" not in findings(bare(), archs=("sm_90",))
    assert "build.archs.chosen" not in findings(healthy(), archs=())
    assert "build.archs.chosen" not in findings(bare(gpus=None), archs=())


@pytest.mark.parametrize(
    ("size", "count", "expected"),
    [(64 << 20, 2, "fail"), (64 << 20, 1, None), (2 * GIB, 2, "pass"), (None, 2, None)],
)
def test_shared_memory(size: int | None, count: int, expected: str | None) -> None:
    shm = place("shared memory", "/dev/shm", size=size, free=size)
    machine = healthy(gpus=tuple(gpu(each) for each in range(count)), resources=resources(shm))
    assert status(machine, "serve.memory.shared", "serve") == expected


@pytest.mark.parametrize(
    ("hard", "expected"), [(1024, "warn"), (65535, None), (-1, None), (None, None)]
)
def test_open_files(hard: int | None, expected: str | None) -> None:
    machine = healthy(resources=resources(nofile_hard=hard))
    assert status(machine, "serve.limit.files", "serve") == expected


@pytest.mark.parametrize(
    ("limit", "rdma", "expected"),
    [
        (8 << 20, ("mlx5_0",), "fail"),
        (-1, ("mlx5_0",), "pass"),
        (1 << 40, ("mlx5_0",), "pass"),
        (8 << 20, (), None),
        (None, ("mlx5_0",), None),
    ],
)
def test_locked_memory_matters_with_rdma_only(
    limit: int | None, rdma: tuple[str, ...], expected: str | None
) -> None:
    machine = healthy(topology=Topology(rdma=rdma), resources=resources(memlock_soft=limit))
    assert status(machine, "serve.limit.locked", "serve") == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [({}, None), ({"writable": False}, "fail"), ({"executable": False}, "fail")],
)
def test_caches_of_compiled_kernels(changes: dict[str, Any], expected: str | None) -> None:
    machine = healthy(resources=resources(place("cache of Triton", "/root/.triton", **changes)))
    assert status(machine, "serve.cache.usable", "serve") == expected
    if expected:
        remedy = serving(machine)["serve.cache.usable"].remedy
        assert remedy is not None
        assert "TRITON_CACHE_DIR" in remedy.text


@pytest.mark.parametrize(
    ("disk", "expected", "words"),
    [
        (Disk("nvme0n1", "nvme", "PCIe 5.0 x4"), "pass", "PCIe 5.0 x4"),
        (
            Disk("md0", "raid", None, "raid0", ("nvme0n1", "nvme1n1")),
            "pass",
            "RAID (raid0 of nvme0n1, nvme1n1)",
        ),
        (Disk("sda", "ssd"), "pass", "without rotating parts"),
        (Disk("sda", "rotating"), "warn", "rotating"),
        (Disk("C:", "host share"), "warn", "hypervisor"),
        (Disk("server:/x", "network"), "pass", "network"),
        (Disk(), None, ""),
        (None, None, ""),
    ],
)
def test_the_disk_under_the_models(disk: Disk | None, expected: str | None, words: str) -> None:
    machine = healthy(resources=resources(place("model", "/models", disk=disk)))
    assert status(machine, "serve.disk.model", "serve") == expected
    if expected:
        assert words in serving(machine)["serve.disk.model"].title
