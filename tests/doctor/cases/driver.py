"""Reports of family 3: driver, compatibility libraries, fabric manager."""

from __future__ import annotations

from dataclasses import replace

from tests.doctor.cases.case import Case
from tests.doctor.machines import MIB, driver, gpu, healthy, python_environment

from dsv4_doctor.facts.driver import CudaLibrary, CudaStart, Driver, Fabric
from dsv4_doctor.facts.python import TorchBuild
from dsv4_doctor.snapshot import Snapshot
from dsv4_doctor.target import Target

SERVE = Target("0.24.0", ("sm_90",), (), "serve")
COMPAT = "/usr/local/cuda/compat"


def library(directory: str, version: str) -> CudaLibrary:
    path = f"{directory}/libcuda.so.1"
    return CudaLibrary(path, f"{directory}/libcuda.so.{version}", version, "ld.so.cache", 90 * MIB)


def of(version: str, cuda: str | None, **changes: object) -> Driver:
    """Return a driver whose parts are all of one version."""
    own = library("/usr/lib/x86_64-linux-gnu", version)
    made = driver(
        kernel_module=version, nvml=version, nvml_library=version, cuda=cuda, libcuda=(own,)
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def geforce(made: Driver) -> Snapshot:
    card = gpu(0, "8.9", "NVIDIA GeForce RTX 4090", brand="GeForce", nvlinks=())
    return healthy(driver=made, gpus=(card,))


def with_torch(made: Driver, torch: str, cuda: str) -> Snapshot:
    build = TorchBuild(torch, cuda, None, "torch/version.py")
    return healthy(driver=made, python=python_environment(torch=build))


def fabric(manager: str | None, running: bool, version: str = "550.107.02") -> Driver:
    path = "/usr/bin/nv-fabricmanager" if manager else None
    return of(version, "12.4", fabric=Fabric(4, path, manager, running), start=CudaStart(802))


CASES = (
    Case(
        "F3-01",
        "vllm-project/vllm#1772",
        with_torch(of("470.57.02", "11.4"), "2.1.0+cu121", "12.1"),
        SERVE,
        "driver.cuda.version",
        names=("470.57.02", "525"),
    ),
    Case(
        "F3-02",
        "modelscope/FunASR#2973",
        with_torch(of("570.86.10", "12.8"), "2.11.0+cu130", "13.0"),
        SERVE,
        "driver.cuda.version",
        names=("570.86.10", "580"),
    ),
    Case(
        "F3-04",
        "vllm-project/vllm#5283",
        geforce(of("535.171.04", "12.2", libcuda=(library(COMPAT, "550.54.15"),))),
        SERVE,
        "driver.library.first",
        names=("804", "550.54.15", "535.171.04"),
    ),
    Case(
        "F3-05",
        "vllm-project/vllm#4940",
        geforce(of("525.147.05", "12.0", libcuda=(library(COMPAT, "550.54.15"),))),
        SERVE,
        "driver.library.first",
        names=("804", "update the driver"),
    ),
    Case(
        "F3-07",
        "gpustack/gpustack#4678",
        healthy(
            driver=of(
                "580.95.05",
                "13.0",
                libcuda=(
                    library(COMPAT, "575.57.08"),
                    library("/usr/local/nvidia/lib64", "580.95.05"),
                ),
            )
        ),
        SERVE,
        "driver.library.first",
        names=("803", "575.57.08", "LD_LIBRARY_PATH", "/usr/local/nvidia/lib64"),
    ),
    Case(
        "F3-08",
        "vllm-project/vllm#33992",
        healthy(
            driver=of("580.126.09", "13.0"),
            gpus=(gpu(0, "7.5", "Quadro RTX 6000", brand="Quadro RTX", nvlinks=()),),
            environment={"VLLM_ENABLE_CUDA_COMPATIBILITY": "1"},
        ),
        SERVE,
        "driver.library.switch",
        names=("VLLM_ENABLE_CUDA_COMPATIBILITY", "803"),
    ),
    Case(
        "F3-11",
        "pytorch/pytorch#35710",
        healthy(driver=fabric(None, running=False)),
        SERVE,
        "driver.fabric.manager",
        names=("802", "systemctl enable --now nvidia-fabricmanager"),
    ),
    Case(
        "F3-13",
        "NVIDIA/nvtrust#55",
        healthy(driver=fabric("550.90.07", running=False)),
        SERVE,
        "driver.fabric.manager",
        names=("550.90.07", "550.107.02"),
    ),
    Case(
        "F3-14",
        "ollama/ollama#12136",
        healthy(driver=fabric("535.230.02", running=True, version="570.124.06")),
        SERVE,
        "driver.fabric.manager",
        names=("535.230.02", "570.124.06"),
    ),
    Case(
        "F3-16",
        "wilicc/gpu-burn#133",
        healthy(
            driver=of(
                "580.95.05",
                "13.0",
                start=CudaStart(802),
                fabric=Fabric(4, "/usr/bin/nv-fabricmanager", "580.95.05", running=True),
            )
        ),
        SERVE,
        "driver.cuda.start",
        names=("802", "nokaslr", "release notes"),
    ),
    Case(
        "F3-17",
        "oddmario/NVIDIA-Ubuntu-Driver-Guide#4",
        healthy(
            driver=of(
                "550.90.07",
                None,
                nvml=None,
                nvml_error="Driver/library version mismatch",
                nvml_library="550.107.02",
            )
        ),
        SERVE,
        "driver.nvidia.coherence",
        names=("550.90.07", "550.107.02", "reboot"),
    ),
    Case(
        "F3-20",
        "tinygrad/open-gpu-kernel-modules#47",
        healthy(
            driver=of(
                "570.124.06",
                None,
                nvml=None,
                nvml_error="Driver/library version mismatch",
                nvml_library="570.124.04",
            )
        ),
        SERVE,
        "driver.nvidia.coherence",
        names=("570.124.06", "570.124.04", "built by hand"),
    ),
)
