"""Reports of family 4: kernel images, PTX, ptxas, versions of FlashAttention."""

from __future__ import annotations

from dataclasses import replace

from tests.doctor.cases.case import Case
from tests.doctor.machines import SITE, gpu, healthy, picks, ptxas, toolkit, with_packages

from dsv4_doctor.facts.driver import Driver
from dsv4_doctor.facts.python import DeviceCode, Distribution, TorchBuild
from dsv4_doctor.facts.toolkit import Toolkits
from dsv4_doctor.snapshot import Snapshot
from dsv4_doctor.target import Target

VLLM = Distribution("vllm", "0.24.0", SITE)


def target(arch: str, release: str = "0.24.0", purpose: str = "serve") -> Target:
    """Return what somebody wants who names no feature."""
    made = Target(release, (arch,), ("deepseek-v4",), features_asked=False)
    return replace(made, purpose=purpose)  # type: ignore[arg-type]


def torch(version: str, cuda: str, *archs: str) -> TorchBuild:
    """Return a torch with these architectures."""
    return TorchBuild(version, cuda, None, f"{SITE}/torch/version.py", archs, cxx11_abi=True)


def code(name: str, sass: tuple[str, ...], ptx: tuple[str, ...] = ()) -> DeviceCode:
    """Return a module of the installed vLLM."""
    return DeviceCode(f"{SITE}/vllm/{name}.abi3.so", "vllm", sass, ptx, cuda=(13,))


def installed(*modules: DeviceCode, version: str = "0.24.0", **python: object) -> Snapshot:
    """Return the healthy machine with vLLM installed."""
    dist = replace(VLLM, version=version)
    return healthy(python=with_packages(dist, binaries=modules, **python))


def _torch_without(identifier: str, report: str, name: str, *archs: str) -> Case:
    return Case(
        identifier,
        report,
        healthy(
            gpus=(gpu(capability="12.0", name=name),),
            python=with_packages(torch=torch("2.7.1+cu126", "12.6", *archs)),
        ),
        target("sm_120", "0.10.2"),
        "torch.arch.gpu",
        names=("sm_120", "sm_90", "torch 2.7.1+cu126"),
    )


def _modules_without(
    identifier: str, report: str, device: tuple[str, str], sass: tuple[str, ...]
) -> Case:
    capability, name = device
    number = capability.replace(".", "")
    return Case(
        identifier,
        report,
        replace(
            installed(code("_C_stable_libtorch", sass)),
            gpus=(gpu(capability=capability, name=name),),
        ),
        target(f"sm_{number}"),
        "arch.installed.runs",
        names=(f"sm_{number}", sass[0]),
    )


def _old_assembler() -> Case:
    assemblers = (ptxas(), ptxas(blackwell=True))
    thor = replace(toolkit(), archs=("sm_90", "sm_110", "sm_110a", "sm_120"))
    return Case(
        "F4-07",
        "vllm-project/vllm#34470",
        healthy(
            gpus=(gpu(capability="11.0", name="NVIDIA Thor"),),
            toolkits=Toolkits(None, (thor,), picks()),
            python=with_packages(ptxas=assemblers),
        ),
        target("sm_110"),
        "triton.jit.ptxas",
        names=(
            "sm_110a",
            "triton/backends/nvidia/bin/ptxas-blackwell",
            f"TRITON_PTXAS_BLACKWELL_PATH={thor.root}/bin/ptxas",
        ),
    )


def _driver(cuda: str) -> Driver:
    return Driver("570.124.06", "open", "570.124.06", cuda, None)


def _marlin_as_ptx() -> Case:
    # Marlin's repacking has PTX only, in a module whose other kernels have machine code.
    module = code("_C", ("sm_80", "sm_90"), ("compute_80",))
    return Case(
        "F4-10",
        "vllm-project/vllm#38669",
        replace(
            installed(module, torch=torch("2.10.0+cu129", "12.9", "sm_90")),
            driver=_driver("12.8"),
        ),
        target("sm_90", "0.18.1"),
        "arch.installed.ptx",
        "warn",
        names=("12.8", "12.9", "PTX compute_80", "driver"),
    )


def _driver_older_than_the_toolkit() -> Case:
    module = code("vllm_flash_attn/_vllm_fa2_C", ("sm_80",), ("compute_80",))
    return Case(
        "F4-11",
        "vllm-project/vllm#40760",
        replace(installed(module), driver=_driver("12.8")),
        target("sm_90", "0.20.2"),
        "arch.installed.ptx",
        names=("12.8", "13.0", "_vllm_fa2_C", "update the driver"),
    )


def _list_of_an_image() -> Case:
    value = "5.2 6.0 6.1 7.0 7.2 7.5 8.0 8.6 8.7 9.0+PTX"
    return Case(
        "F4-13",
        "vllm-project/vllm#2021",
        healthy(environment={"TORCH_CUDA_ARCH_LIST": value}),
        target("sm_90", purpose="build"),
        "arch.list.release",
        "warn",
        names=("5.2", "6.1", "TORCH_CUDA_ARCH_LIST=9.0"),
    )


def _list_without_the_gpu() -> Case:
    return Case(
        "F4-05",
        "vllm-project/vllm#19328",
        healthy(environment={"TORCH_CUDA_ARCH_LIST": "8.0;8.6"}),
        target("sm_87", "0.9.2", "build"),
        "arch.list.release",
        names=("8.7", "TORCH_CUDA_ARCH_LIST=8.7"),
    )


def _fa3(identifier: str, report: str, arch: str, release: str) -> Case:
    return Case(
        identifier,
        report,
        healthy(
            environment={"VLLM_FLASH_ATTN_VERSION": "3"},
            gpus=(gpu(capability=arch),),
        ),
        target(f"sm_{arch.replace('.', '')}", release),
        "flash_attn.fa3.gpu",
        names=("FlashAttention 3", "VLLM_FLASH_ATTN_VERSION=2", "9.0"),
    )


CASES = (
    _torch_without(
        "F4-01", "vllm-project/vllm#16901", "NVIDIA GeForce RTX 5090", "sm_50", "sm_80", "sm_90"
    ),
    _modules_without(
        "F4-01",
        "vllm-project/vllm#16901",
        ("12.0", "NVIDIA GeForce RTX 5090"),
        ("sm_80", "sm_86", "sm_90"),
    ),
    _torch_without(
        "F4-02",
        "vllm-project/vllm#21633",
        "NVIDIA GeForce RTX 5070 Ti",
        *("sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90"),
    ),
    _modules_without(
        "F4-04",
        "vllm-project/vllm#39233",
        ("11.0", "NVIDIA Thor"),
        ("sm_87", "sm_89", "sm_90", "sm_100", "sm_120"),
    ),
    _modules_without(
        "F4-05", "vllm-project/vllm#19328", ("8.7", "NVIDIA Orin"), ("sm_80", "sm_86", "sm_90")
    ),
    _list_without_the_gpu(),
    _old_assembler(),
    _marlin_as_ptx(),
    _driver_older_than_the_toolkit(),
    _list_of_an_image(),
    _fa3("F4-14", "Dao-AILab/flash-attention#1853", "12.0", "0.10.2"),
    _fa3("F4-16", "vllm-project/vllm#12429", "8.6", "0.8.5"),
    _fa3("F4-16", "vllm-project/vllm#12429", "8.9", "0.8.5"),
)
