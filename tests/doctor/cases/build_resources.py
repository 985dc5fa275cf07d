"""Reports of family 6 whose cause is memory, disk, network or the remains of a build."""

from __future__ import annotations

from dataclasses import replace

from tests.doctor.cases.case import Case, Invisible
from tests.doctor.machines import healthy, resources

from dsv4_doctor.facts.host import Host
from dsv4_doctor.facts.resources import CMakeCache
from dsv4_doctor.snapshot import Snapshot
from dsv4_doctor.target import Target

BUILD = Target("0.24.0", ("sm_90",), (), "build")
GB = 1000**3


def memory(cpus: int, size: int, environ: dict[str, str] | None = None, **host: object) -> Snapshot:
    """Return a machine with so many processors and so much memory, most of it free."""
    known = healthy().host
    assert isinstance(known, Host)
    sized = replace(known, cpus=cpus, memory=size * GB, memory_available=size * GB)
    return healthy(host=replace(sized, **host), environment=environ or {})  # type: ignore[arg-type]


CASES = (
    Case(
        "F6-01",
        "Dao-AILab/flash-attention#1549",
        memory(64, 96),
        BUILD,
        "build.memory.jobs",
        "warn",
        ("64 jobs", "MAX_JOBS=21"),
    ),
    Case(
        "F6-02",
        "Dao-AILab/flash-attention#1811",
        memory(24, 32),
        BUILD,
        "build.memory.jobs",
        "warn",
        ("24 jobs", "MAX_JOBS=7"),
    ),
    Case(
        "F6-04",
        "vllm-project/vllm#1782",
        memory(16, 24, {"MAX_JOBS": "16", "NVCC_THREADS": "2"}, container="docker"),
        BUILD,
        "build.memory.jobs",
        "warn",
        ("8 jobs", "MAX_JOBS"),
    ),
    Case(
        "F6-05",
        "vllm-project/vllm#10575",
        memory(16, 16, wsl=True),
        BUILD,
        "build.memory.jobs",
        "warn",
        ("WSL2", ".wslconfig"),
    ),
    Case(
        "F6-13",
        "vllm-project/vllm#7785",
        healthy(
            resources=resources(
                cmake_caches=(
                    CMakeCache(
                        "/src/vllm/build/temp/CMakeCache.txt",
                        ("CMAKE_MAKE_PROGRAM=/tmp/pip-build-env-bxpa0h4m/overlay/bin/ninja",),
                    ),
                )
            )
        ),
        BUILD,
        "build.cache.stale",
        names=("pip-build-env", "rm /src/vllm/build/temp/CMakeCache.txt"),
    ),
    Case(
        "F6-16",
        "QwenLM/Qwen3-VL#188",
        healthy(environment={"PIP_INDEX_URL": "https://download.pytorch.org/whl/cu121"}),
        BUILD,
        "env.index.replaced",
        "warn",
        ("PIP_EXTRA_INDEX_URL",),
    ),
    Case(
        "F6-23",
        "https://developer.volcengine.com/articles/7535837127268843566",
        memory(48, 64),
        BUILD,
        "build.memory.jobs",
        "warn",
        ("48 jobs", "MAX_JOBS=14"),
    ),
)
INVISIBLE = (
    Invisible(
        "F6-07",
        "stepfun-ai/Step-Audio2#37",
        "the network broke two hours into the build; check does not go to the network",
    ),
    Invisible(
        "F6-08",
        "vllm-project/vllm#7368",
        "whether a proxy lets a clone through is known only by trying; its form is checked",
    ),
)
