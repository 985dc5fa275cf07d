"""Reports of family 9: DeepSeek models, their kernels and the GPUs that these are for."""

from __future__ import annotations

from dataclasses import replace

from tests.doctor.cases.case import Case
from tests.doctor.machines import SITE, gpu, healthy, picks, toolkit, with_packages

from dsv4_doctor.facts.python import DeviceCode, Distribution
from dsv4_doctor.facts.toolkit import Toolkits
from dsv4_doctor.target import Target

VLLM = Distribution("vllm", "0.24.0", SITE)


def target(arch: str, release: str, *, asked: bool = True) -> Target:
    """Return somebody who wants to serve DeepSeek-V4."""
    return Target(release, (arch,), ("deepseek-v4",), "serve", features_asked=asked)


def _not_for_this_gpu(
    identifier: str, report: str, device: tuple[str, str], release: str, names: tuple[str, ...]
) -> Case:
    capability, name = device
    arch = f"sm_{capability.replace('.', '')}"
    return Case(
        identifier,
        report,
        healthy(gpus=tuple(gpu(index, capability, name) for index in range(2))),
        target(arch, release),
        "feature.deepseek-v4.arch",
        names=(arch, *names),
    )


def _reported(
    identifier: str, report: str, device: tuple[str, str], release: str, names: tuple[str, ...]
) -> Case:
    capability, name = device
    return Case(
        identifier,
        report,
        healthy(gpus=(gpu(capability=capability, name=name),)),
        target(f"sm_{capability.replace('.', '')}", release),
        "known.reports.match",
        "warn",
        names=names,
    )


def _floating_compiler() -> Case:
    parts = (
        Distribution("nvidia-cuda-cccl", "13.3.3.4.1", SITE),
        Distribution("nvidia-cuda-nvcc", "13.3.73", SITE),
    )
    root = f"{SITE}/nvidia/cu13"
    pip = replace(toolkit("13.0", root), origins=("pip",), nvcc_version="13.3.73")
    return Case(
        "F9-04",
        "vllm-project/vllm#55526",
        healthy(
            python=with_packages(*parts),
            toolkits=Toolkits(None, (pip,), picks(root)),
            gpus=(gpu(capability="12.0", name="NVIDIA GeForce RTX 5090"),),
        ),
        target("sm_120", "0.33.0"),
        "cuda.wheels.coherence",
        names=("13.3.73", "13.0.96"),
    )


def _without_deep_gemm() -> Case:
    return Case(
        "F9-11",
        "vllm-project/vllm#29943",
        healthy(python=with_packages(replace(VLLM, version="0.12.0"))),
        Target("0.12.0", ("sm_90",), (), "serve"),
        "deep_gemm.package.present",
        "warn",
        names=("does not bring DeepGEMM", "install_deepgemm.sh"),
    )


def _separate_deep_gemm() -> Case:
    return Case(
        "F9-17",
        "timothystewart6/vllm-gb10#27",
        healthy(
            gpus=(gpu(capability="12.1", name="NVIDIA GB10"),),
            python=with_packages(VLLM, Distribution("deep-gemm", "2.5.0+2073ddb", SITE)),
        ),
        target("sm_121", "0.24.0"),
        "known.reports.match",
        "warn",
        names=("GB10", "deep-gemm 2.5.0", "VLLM_USE_DEEP_GEMM=0"),
    )


def _without_flashmla() -> Case:
    code = DeviceCode(f"{SITE}/vllm/_C_stable_libtorch.abi3.so", "vllm", ("sm_90",), (), cuda=(13,))
    return Case(
        "F9-08",
        "yhfgyyf/vllm-deepseek-v4-sm89#90",
        healthy(python=with_packages(VLLM, binaries=(code,))),
        target("sm_90", "0.24.0"),
        "vllm.install.components",
        names=("_flashmla_C", "lacks", ">=12.9"),
    )


def _two_versions_of_cutlass() -> Case:
    parts = (
        Distribution("nvidia-cutlass-dsl", "4.5.2", SITE),
        Distribution("nvidia-cutlass-dsl-libs-base", "4.8.0", SITE),
    )
    return Case(
        "F9-19",
        "vllm-project/vllm#44949",
        healthy(python=with_packages(VLLM, *parts)),
        target("sm_90", "0.24.0"),
        "cutlass.install.libraries",
        names=("4.5.2", "4.8.0", "nvidia-cutlass-dsl-libs-base==4.5.2"),
    )


def _nvcc_that_crashes() -> Case:
    root = "/usr/local/cuda-13.2"
    return Case(
        "F9-20",
        "sgl-project/sglang#32830",
        healthy(
            toolkits=Toolkits(None, (toolkit("13.2", root),), picks(root)),
            gpus=(gpu(name="NVIDIA H100 80GB HBM3"),),
        ),
        target("sm_90", "0.24.0"),
        "known.reports.match",
        "warn",
        names=("nvcc 13.2", root, "crash"),
    )


GB10 = ("12.1", "NVIDIA GB10")
L20 = ("8.9", "NVIDIA L20")

CASES = (
    _not_for_this_gpu(
        "F9-01", "eugr/spark-vllm-docker#209", GB10, "0.20.2", ("9.x, 10.x", "choose vLLM 0.24.0")
    ),
    _not_for_this_gpu(
        "F9-02",
        "vllm-project/vllm#40802",
        ("12.0", "NVIDIA GeForce RTX 5090"),
        "0.20.0",
        ("9.x, 10.x", "choose vLLM 0.24.0"),
    ),
    _floating_compiler(),
    _reported(
        "F9-05",
        "vllm-project/vllm#53320",
        ("9.0", "NVIDIA H20"),
        "0.27.1",
        ("symmetric memory", "TORCH_SYMM_MEM_DISABLE_MULTICAST=1", "0.25.0"),
    ),
    _not_for_this_gpu("F9-07", "vllm-project/vllm#40903", L20, "0.24.0", ("9.x", "12.x")),
    _without_flashmla(),
    _without_deep_gemm(),
    _not_for_this_gpu(
        "F9-13",
        "vllm-project/vllm#31480",
        ("8.0", "NVIDIA A100-SXM4-80GB"),
        "0.24.0",
        ("9.x", "no newer known release"),
    ),
    _separate_deep_gemm(),
    _two_versions_of_cutlass(),
    _nvcc_that_crashes(),
)
