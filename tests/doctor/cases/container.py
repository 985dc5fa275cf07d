"""Reports of family 7: image requirements, GPU runtime, libcuda, shared memory."""

from __future__ import annotations

from dataclasses import replace

from tests.doctor.cases.case import Case, Invisible
from tests.doctor.cases.driver import of
from tests.doctor.machines import bare, driver, gpu, healthy, place, resources

from dsv4_doctor.facts.containers import Containers
from dsv4_doctor.facts.driver import CudaLibrary
from dsv4_doctor.facts.toolkit import Picks, Toolkits
from dsv4_doctor.snapshot import Snapshot
from dsv4_doctor.target import Target

SERVE = Target("0.24.0", ("sm_90",), (), "serve")
NO_TOOLKIT = Toolkits(None, (), Picks(None, None, None))


def with_docker(**changes: object) -> Containers:
    made = Containers({"docker": "/usr/bin/docker"})
    return replace(made, **changes)  # type: ignore[arg-type]


def inside(machine: Snapshot, **changes: object) -> Snapshot:
    """Return the machine as a container sees it."""
    assert machine.host is not None
    host = replace(machine.host, container="docker")
    return replace(machine, host=host, **changes)  # type: ignore[arg-type]


def small_shm(size: int, count: int) -> Snapshot:
    shm = place("shared memory", "/dev/shm", size=size, free=size)
    gpus = tuple(gpu(index) for index in range(count))
    return inside(healthy(gpus=gpus), resources=resources(shm))


CASES = (
    Case(
        "F7-01",
        "vllm-project/vllm#5635",
        healthy(
            driver=of("530.30.02", "12.1"),
            gpus=(gpu(0, "7.0", "Tesla V100-SXM2-16GB", brand="Tesla"),),
            containers=with_docker(programs={"docker": "/usr/bin/docker", "nvidia-ctk": "/x"}),
        ),
        Target("0.7.2", ("sm_70",), (), "serve"),
        "container.image.driver",
        "warn",
        ("12.4.1", "12.1"),
    ),
    Case(
        "F7-04",
        "NVIDIA/nvidia-container-toolkit#152",
        inside(
            healthy(
                driver=of("450.80.02", "11.0"),
                environment={"NVIDIA_REQUIRE_CUDA": "cuda>=11.8 brand=tesla,driver>=470"},
            )
        ),
        SERVE,
        "container.image.driver",
        names=("cuda>=11.8", "11.0"),
    ),
    Case(
        "F7-05",
        "neuralmagic/nm-vllm#404",
        healthy(containers=with_docker()),
        SERVE,
        "container.engine.toolkit",
        "warn",
        ("nvidia-ctk runtime configure",),
    ),
    Case(
        "F7-07",
        "containers/ramalama#940",
        healthy(
            containers=with_docker(docker_version="28.0.0", cdi_specs=("/etc/cdi/nvidia.yaml",))
        ),
        SERVE,
        "container.docker.cdi",
        "warn",
        ("28.0.0", "features"),
    ),
    Case(
        "F7-08",
        "vllm-project/vllm#12505",
        inside(healthy(driver=driver(libcuda_link=None), toolkits=NO_TOOLKIT)),
        SERVE,
        "driver.library.link",
        "warn",
        ("libcuda.so.1", "ln -s"),
    ),
    Case(
        "F7-11",
        "ls1intum/edutelligence#682",
        healthy(
            driver=driver(
                libcuda=(
                    CudaLibrary(
                        "/usr/lib/libcuda.so.1",
                        "/usr/lib/libcuda.so.1",
                        None,
                        "ld.so.cache",
                        15_000,
                    ),
                )
            )
        ),
        SERVE,
        "driver.library.first",
        names=("stand-in", "stubs"),
    ),
    Case(
        "F7-13",
        "vllm-project/vllm#1393",
        small_shm(64 << 20, 2),
        SERVE,
        "serve.memory.shared",
        names=("--ipc=host", "--shm-size"),
    ),
    Case(
        "F7-14",
        "MiniMax-AI/MiniMax-01#42",
        small_shm(64 << 20, 8),
        SERVE,
        "serve.memory.shared",
        names=("/dev/shm", "NCCL"),
    ),
    Case(
        "F7-16",
        "vllm-project/vllm#9152",
        inside(bare()),
        Target("0.24.0", (), (), "build"),
        "build.archs.chosen",
        "warn",
        ("TORCH_CUDA_ARCH_LIST",),
    ),
)
INVISIBLE = (
    Invisible(
        "F7-17",
        "vllm-project/vllm#9307",
        "the size of a wheel is known only after it was linked; the gate is upstream's own limit",
    ),
)
