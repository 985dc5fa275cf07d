"""Reports of family 2: CUDA toolkit, nvcc, headers, compiling in a running server."""

from __future__ import annotations

from dataclasses import replace

from tests.doctor.cases.case import Case, Invisible
from tests.doctor.machines import (
    ROOT,
    SITE,
    compiler,
    gpu,
    healthy,
    picks,
    ptxas,
    toolkit,
    with_packages,
)

from dsv4_doctor.facts.compiler import HostCompilers
from dsv4_doctor.facts.python import Distribution, TorchBuild
from dsv4_doctor.facts.toolkit import PathChain, Picks, Toolkit, Toolkits
from dsv4_doctor.snapshot import Snapshot
from dsv4_doctor.target import Target

BUILD = Target("0.24.0", ("sm_90",), (), "build")
SERVE = Target("0.24.0", ("sm_90",), ("deepseek-v4",), "serve", features_asked=False)
BLACKWELL = Target("0.24.0", ("sm_120",), ("deepseek-v4",), "serve", features_asked=False)
PIP = f"{SITE}/nvidia/cu13"
FLASHINFER = Distribution("flashinfer-python", "0.6.12", SITE)


def machine(*found: Toolkit, chosen: Picks, home: str | None = None, **more: object) -> Snapshot:
    """Return the healthy machine with other toolkits."""
    chain = PathChain(home, (), exists=True) if home is not None else None
    return healthy(toolkits=Toolkits(chain, found, chosen), **more)


def torch(version: str, cuda: str) -> TorchBuild:
    """Return a torch that has code for every GPU."""
    archs = ("sm_80", "sm_90", "sm_100", "sm_120")
    return TorchBuild(version, cuda, None, f"{SITE}/torch/version.py", archs, cxx11_abi=True)


def _two_cudas(nvcc: str) -> Case:
    old = toolkit(nvcc, "/usr/local/cuda")
    return Case(
        "F2-01",
        "vllm-project/vllm#1453",
        machine(
            old,
            chosen=picks("/usr/local/cuda"),
            home="/usr/local/cuda",
            python=with_packages(torch=torch("2.1.0+cu121", "12.1")),
        ),
        BUILD,
        "torch.build.toolkit",
        names=(nvcc, "12.1"),
    )


def _isolated_build() -> Case:
    # As in the report: the toolkit fits the installed torch, and not the one that pip downloads.
    here = toolkit("12.2", "/usr/local/cuda-12.2")
    return Case(
        "F2-02",
        "vllm-project/vllm#1060",
        machine(
            here,
            chosen=picks(here.root),
            python=with_packages(torch=torch("2.11.0+cu126", "12.6")),
        ),
        BUILD,
        "torch.build.isolation",
        "warn",
        names=("isolated build", "13.0", "12.2", "--no-build-isolation"),
    )


def _not_looked_for_on_path() -> Case:
    return Case(
        "F2-04",
        "vllm-project/vllm#26642",
        machine(
            toolkit("12.8", "/usr/local/cuda"),
            chosen=picks("/usr/local/cuda"),
            python=with_packages(Distribution("flashinfer-python", "0.4.0", SITE)),
            environment={"PATH": "/usr/local/cuda/bin:/usr/bin"},
        ),
        SERVE,
        "known.reports.match",
        "warn",
        names=("FlashInfer 0.4.0", "CUDA_HOME"),
    )


def _no_toolkit(identifier: str, report: str, flashinfer: str) -> Case:
    return Case(
        identifier,
        report,
        machine(
            chosen=picks(None),
            python=with_packages(Distribution("flashinfer-python", flashinfer, SITE)),
            environment={},
        ),
        SERVE,
        "jit.flashinfer.compiler",
        names=("nvcc", f"flashinfer-cubin=={flashinfer}", "VLLM_USE_FLASHINFER_SAMPLER=0"),
    )


def _stray_colon() -> Case:
    value = ":/usr/local/cuda-12.8"
    return Case(
        "F2-07",
        "vllm-project/vllm#36077",
        healthy(
            toolkits=Toolkits(
                PathChain(value, (), exists=False),
                (toolkit("12.8", "/usr/local/cuda-12.8"),),
                picks(None),
            )
        ),
        SERVE,
        "cuda.home.text",
        names=("colon", "export CUDA_HOME=/usr/local/cuda-12.8"),
    )


def _run_time_only() -> Case:
    root = "/usr/local/cuda-12.1"
    images = replace(
        toolkit("12.1", root),
        nvcc=None,
        nvcc_version=None,
        header_version=None,
        runtime_version=None,
        archs=(),
        host_compiler=None,
        missing=("bin/nvcc", "nvvm/bin/cicc"),
    )
    return Case(
        "F2-10",
        "Dao-AILab/flash-attention#509",
        machine(images, chosen=picks(root), home=root),
        BUILD,
        "cuda.toolkit.present",
        names=(root, "without a compiler", "no bin/nvcc"),
    )


def _nvcc_of_the_distribution() -> Case:
    own = replace(
        toolkit("11.5", "/usr/lib/nvidia-cuda-toolkit"),
        origins=("PATH", "/usr/lib/nvidia-cuda-toolkit"),
    )
    wanted = toolkit("12.1", "/usr/local/cuda-12.1")
    return Case(
        "F2-11",
        "vllm-project/vllm#4313",
        machine(own, wanted, chosen=picks(own.root)),
        BUILD,
        "cuda.toolkit.distribution",
        names=("11.5", "/usr/local/cuda-12.1", "12.1"),
    )


def _hpc_sdk() -> Case:
    root = "/opt/nvidia/hpc_sdk/Linux_aarch64/24.3/cuda/12.3"
    math = "/opt/nvidia/hpc_sdk/Linux_aarch64/24.3/math_libs/12.3/include"
    sdk = replace(
        toolkit("12.3", root),
        missing=("include/cublas_v2.h", "include/cusparse.h"),
        math_libraries=math,
    )
    return Case(
        "F2-13",
        "vllm-project/vllm#11191",
        machine(sdk, chosen=picks(root)),
        BUILD,
        "cuda.toolkit.math",
        names=("cusparse.h", math, "CPATH"),
    )


def _pip(nvcc: str) -> Toolkit:
    made = replace(toolkit("13.0", PIP), origins=("pip",), nvcc_version=nvcc)
    return replace(made, runtime_version="13.0")


def _floating_compiler(identifier: str, report: str, nvcc: str, chosen: Picks) -> Case:
    parts = [
        Distribution(name, nvcc, SITE)
        for name in ("nvidia-cuda-nvcc", "nvidia-cuda-crt", "nvidia-nvvm")
    ]
    found = (_pip(nvcc), toolkit("12.8", "/usr/local/cuda-12.8"))
    return Case(
        identifier,
        report,
        machine(
            *found,
            chosen=chosen,
            python=with_packages(*parts, ptxas=(ptxas(), ptxas(blackwell=True))),
            gpus=(gpu(capability="12.0", name="NVIDIA RTX PRO 6000"),),
        ),
        BLACKWELL,
        "cuda.wheels.coherence",
        names=(nvcc, "13.0.96", "nvidia-cuda-nvcc==13.0.*"),
    )


def _too_old_for_the_consumer(identifier: str, report: str) -> Case:
    return Case(
        identifier,
        report,
        machine(
            toolkit("12.8", "/usr/local/cuda-12.8"),
            chosen=picks("/usr/local/cuda-12.8"),
            home="/usr/local/cuda-12.8",
            python=with_packages(FLASHINFER),
            gpus=(gpu(capability="12.0", name="NVIDIA GeForce RTX 5090"),),
        ),
        BLACKWELL,
        "jit.nvcc.minimum",
        names=("FlashInfer 0.6.12", "sm_120", "12.8", ">=12.9"),
    )


def _tilelang_takes_pips() -> Case:
    chosen = replace(picks(ROOT), runtime={"flashinfer": ROOT, "deep-gemm": ROOT, "tilelang": PIP})
    parts = (Distribution("nvidia-cuda-nvcc", "13.2.78", SITE),)
    return Case(
        "F9-16",
        "vllm-project/perf-eval#52",
        machine(toolkit(), _pip("13.2.78"), chosen=chosen, python=with_packages(*parts)),
        SERVE,
        "jit.toolkit.consumers",
        "warn",
        names=("TileLang", PIP, f"CUDA_HOME={ROOT}"),
    )


def _wsl() -> Snapshot:
    used = compiler("15.2.0")
    return healthy(
        toolkits=Toolkits(None, (), picks(None)),
        python=with_packages(Distribution("flashinfer-python", "0.6.15.post1", SITE)),
        compilers=HostCompilers((used,), used, "PATH (no nvcc to ask)", libc_math=None),
        gpus=(gpu(capability="8.9", name="NVIDIA GeForce RTX 4060 Ti"),),
        environment={},
    )


CASES = (
    _two_cudas("11.8"),
    _isolated_build(),
    _not_looked_for_on_path(),
    _no_toolkit("F2-05", "NVIDIA-NeMo/Gym#1405", "0.6.12"),
    _stray_colon(),
    _run_time_only(),
    _nvcc_of_the_distribution(),
    _hpc_sdk(),
    _too_old_for_the_consumer("F2-16", "vllm-project/vllm#44305"),
    _floating_compiler("F2-16", "vllm-project/vllm#44305", "13.3.33", picks(PIP)),
    _floating_compiler("F2-17", "ls1intum/edutelligence#687", "13.2.86", picks(PIP)),
    _too_old_for_the_consumer("F2-19", "vllm-project/vllm#50705"),
    Case(
        "F2-20",
        "vllm-project/vllm#49497",
        _wsl(),
        replace(SERVE, archs=("sm_89",), features=()),
        "jit.flashinfer.compiler",
        names=("nvcc", "0.6.15.post1", "VLLM_USE_FLASHINFER_SAMPLER=0"),
    ),
    _tilelang_takes_pips(),
)

INVISIBLE = (
    Invisible(
        "F2-22",
        "HKUNLP/STRING#6",
        "the thread ends before the cause: only that CMake failed is known, and of the machine its"
        " Python and the number of jobs, neither of which is a fault",
    ),
)
