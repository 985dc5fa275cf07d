"""Reports of family 5: torch's ABI, majors of libraries, what Triton compiles with."""

from __future__ import annotations

from dataclasses import replace

from tests.doctor.cases.case import Case
from tests.doctor.machines import SITE, gpu, healthy, with_packages

from dsv4_doctor.facts.compiler import HostCompilers
from dsv4_doctor.facts.python import DeviceCode, Distribution, TorchBuild
from dsv4_doctor.facts.symbols import Symbols, Unresolved
from dsv4_doctor.snapshot import Snapshot
from dsv4_doctor.target import Target

SERVE = Target("0.24.0", ("sm_90",), (), "serve")
CHECK = "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_jb"


def torch(version: str, cuda: str | None, *, new_abi: bool = True) -> TorchBuild:
    """Return a torch that has code for every GPU."""
    archs = ("sm_80", "sm_90", "sm_120") if cuda else ()
    return TorchBuild(version, cuda, None, f"{SITE}/torch/version.py", archs, cxx11_abi=new_abi)


def _another_torch(identifier: str, report: str, vllm: str, asks: str, here: str) -> Case:
    dist = Distribution("vllm", vllm, SITE, (f"torch=={asks}",))
    return Case(
        identifier,
        report,
        healthy(python=with_packages(dist, torch=torch(f"{here}+cu130", "13.0"))),
        SERVE,
        "python.packages.torch",
        names=(f"torch=={asks}", here, vllm),
    )


def unresolved(
    owner: str, module: str, kind: str, symbol: str, here: TorchBuild | None = None
) -> Snapshot:
    """Return a machine where somebody looked deep and a symbol was missing."""
    path = f"{SITE}/{module}"
    problem = Unresolved(path, owner, kind, "1 symbol is missing", (symbol,), 1)
    dist = Distribution(owner, "1.0", SITE)
    changes = {"torch": here} if here else {}
    return healthy(
        python=with_packages(dist, **changes),
        symbols=Symbols(f"{SITE}/torch/lib", (path,), (problem,)),
    )


def _symbol(identifier: str, report: str, facts: Snapshot, names: tuple[str, ...]) -> Case:
    return Case(identifier, report, facts, SERVE, "vllm.install.symbols", names=names)


def _wheel_of_flash_attn(
    identifier: str, report: str, tag: str, here: TorchBuild, names: tuple[str, ...]
) -> Case:
    # An address of a wheel has its "+" escaped, or not.
    version = tag.partition("+")[0]
    origin = (
        f"https://example.org/flash_attn-{tag.replace('+', '%2B')}-cp312-cp312-linux_x86_64.whl"
    )
    dist = Distribution("flash-attn", version, SITE, ("torch",), origin)
    return Case(
        identifier,
        report,
        healthy(python=with_packages(dist, torch=here)),
        SERVE,
        "flash_attn.package.torch",
        names=(*names, "FLASH_ATTENTION_FORCE_BUILD=TRUE"),
    )


def _cuda_13_beside_12() -> Case:
    code = DeviceCode(f"{SITE}/vllm/_C.abi3.so", "vllm", ("sm_90",), (), cuda=(13,))
    dist = Distribution("vllm", "0.24.0", SITE)
    here = torch("2.11.0+cu129", "12.9")
    return Case(
        "F5-13",
        "vllm-project/vllm#44335",
        healthy(python=with_packages(dist, binaries=(code,), torch=here)),
        SERVE,
        "vllm.install.cuda",
        names=("libcudart.so.13", "12.9", "libcudart.so.12", "torch==2.11.0"),
    )


def _older_library_first() -> Case:
    old = "/usr/local/cuda-12.1/lib64/libnvJitLink.so.12.1.105"
    dist = Distribution("nvidia-nvjitlink-cu12", "12.4.127", SITE)
    python = with_packages(dist, shadowed={"libnvJitLink.so.12": old})
    kept = tuple(each for each in python.distributions if each.name != "nvidia-nvjitlink")
    return Case(
        "F5-16",
        "vllm-project/vllm#10300",
        healthy(python=replace(python, distributions=kept)),
        SERVE,
        "cuda.libraries.shadowed",
        names=("libnvJitLink.so.12", old, "LD_LIBRARY_PATH"),
    )


def _no_c_compiler() -> Case:
    return Case(
        "F5-17",
        "vllm-project/vllm#2997",
        healthy(compilers=HostCompilers((), None, None)),
        SERVE,
        "triton.jit.compiler",
        names=("no C compiler", "apt-get install -y gcc"),
    )


def _libcuda_outside_of_the_path() -> Case:
    mount = "/usr/local/nvidia/lib64"
    return Case(
        "F5-19",
        "llm-d/llm-d#1063",
        healthy(
            python=with_packages(
                libcuda=(), libcuda_elsewhere=(mount, "/usr/local/cuda-12.9/compat")
            )
        ),
        SERVE,
        "triton.jit.libcuda",
        names=(mount, f"TRITON_LIBCUDA_PATH={mount}", "ldconfig"),
    )


def _cpu_only() -> Case:
    return Case(
        "F5-20",
        "vllm-project/vllm#28371",
        healthy(
            gpus=(gpu(capability="12.1", name="NVIDIA GB10"),),
            python=with_packages(torch=torch("2.8.0+cpu", None)),
        ),
        replace(SERVE, archs=("sm_121",)),
        "torch.build.present",
        names=("CPU only", "cannot use an NVIDIA GPU"),
    )


def _name_of_another_version() -> Case:
    module = DeviceCode(
        f"{SITE}/flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so", "flash-attn", ("sm_80",), ()
    )
    dist = Distribution("flash-attn", "2.0.4", SITE)
    return Case(
        "F5-22",
        "Dao-AILab/flash-attention#535",
        healthy(
            gpus=(gpu(capability="7.0", name="Tesla V100"),),
            python=with_packages(dist, binaries=(module,)),
        ),
        replace(SERVE, archs=("sm_70",)),
        "flash_attn.package.gpu",
        names=("flash_attn_2_cuda (FlashAttention 2)", "sm_70", "flash_attn_cuda"),
    )


OLD_ABI = torch("2.6.0a0+ngc", "12.8", new_abi=False)

CASES = (
    _another_torch("F5-01", "vllm-project/vllm#36302", "0.16.0", "2.9.1", "2.10.0"),
    _symbol(
        "F5-01",
        "vllm-project/vllm#36302",
        unresolved("vllm", "vllm/_C.abi3.so", "torch-abi", CHECK),
        (CHECK, "another torch"),
    ),
    _symbol(
        "F5-02",
        "vllm-project/vllm#13608",
        unresolved(
            "vllm", "vllm/_C.abi3.so", "torch-abi", "_ZN5torch3jit17parseSchemaOrNameERKSsb"
        ),
        ("_ZN5torch3jit17parseSchemaOrNameERKSsb", "C++ ABI"),
    ),
    _another_torch("F5-04", "vllm-project/vllm#12577", "0.5.3.post1", "2.3.1", "2.4.0"),
    _symbol(
        "F5-05",
        "vllm-project/vllm#20514",
        unresolved(
            "vllm",
            "vllm/_C.abi3.so",
            "not-compiled",
            "_Z35cutlass_blockwise_scaled_grouped_mmRN2at6TensorERKS0_",
        ),
        ("never compiled", "torch is not the cause", "TORCH_CUDA_ARCH_LIST"),
    ),
    _wheel_of_flash_attn(
        "F5-08",
        "Dao-AILab/flash-attention#1644",
        "2.7.4.post1+cu12torch2.7cxx11abiFALSE",
        torch("2.7.0+cu128", "12.8"),
        ("ABI FALSE", "ABI TRUE"),
    ),
    _wheel_of_flash_attn(
        "F5-10",
        "Dao-AILab/flash-attention#1717",
        "2.8.0.post2+cu12torch2.6cxx11abiTRUE",
        OLD_ABI,
        ("ABI TRUE", "ABI FALSE"),
    ),
    _symbol(
        "F5-10",
        "Dao-AILab/flash-attention#1717",
        unresolved(
            "flash-attn",
            "flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so",
            "torch-abi",
            "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcE",
            OLD_ABI,
        ),
        ("flash-attn", "another torch or C++ ABI", "--no-build-isolation"),
    ),
    _wheel_of_flash_attn(
        "F5-11",
        "Dao-AILab/flash-attention#1832",
        "2.8.3+cu12torch2.7cxx11abiTRUE",
        torch("2.8.0+cu128", "12.8"),
        ("torch 2.7", "torch 2.8.0+cu128"),
    ),
    _symbol(
        "F5-11",
        "Dao-AILab/flash-attention#1832",
        unresolved(
            "flash-attn",
            "flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so",
            "torch-abi",
            "_ZN3c104cuda9SetDeviceEa",
        ),
        ("_ZN3c104cuda9SetDeviceEa", "another torch"),
    ),
    _cuda_13_beside_12(),
    _older_library_first(),
    _no_c_compiler(),
    _libcuda_outside_of_the_path(),
    _cpu_only(),
    _name_of_another_version(),
)
