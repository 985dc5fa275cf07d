"""FlashInfer: its parts of one version, and an nvcc where it looks for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks import remedies
from dsv4_doctor.checks.jit import runtime_toolkit
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.knowledge import stack
from dsv4_doctor.report import Command, Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.facts.toolkit import Toolkit
    from dsv4_doctor.report import Status


@check(
    "jit.flashinfer.packages",
    "FlashInfer's parts",
    reads=("python",),
    reports=("NVIDIA-NeMo/Gym#1405",),
    fix="Install flashinfer-cubin and flashinfer-jit-cache in the version of flashinfer-python.",
)
def packages(context: Context) -> Iterator[Finding]:
    """Whether FlashInfer's wheels of compiled kernels are of FlashInfer's own version.

    It refuses to start with others, unless FLASHINFER_DISABLE_VERSION_CHECK is set.
    """
    python = context.need("python", context.snapshot.python)
    main = python.distribution("flashinfer-python")
    parts = [
        dist
        for name in ("flashinfer-cubin", "flashinfer-jit-cache")
        if (dist := python.distribution(name)) is not None
    ]
    if main is None or not parts:
        return
    bad = [each for each in parts if each.version.partition("+")[0] != main.version]
    off = "FLASHINFER_DISABLE_VERSION_CHECK" in (context.snapshot.environment or {})
    status: Status = "fail" if context.target.serves and not off else "warn"
    named = ", ".join(f"{each.name} {each.version}" for each in bad or parts)
    yield Finding(
        "jit.flashinfer.packages",
        status if bad else "pass",
        f"flashinfer-python {main.version} {'beside' if bad else 'with'} {named}",
        found=named,
        expected=f"{main.version} of each",
        evidence=tuple(
            Evidence(f"{each.name} {each.version}", each.location) for each in (main, *parts)
        ),
        source=(stack.rule("flashinfer.parts").source,),
        remedy=Remedy(
            "install them in one version, or uninstall them, so that kernels are compiled at start",
            (
                remedies.pip_install(
                    python.executable, *(f"{each.name}=={main.version}" for each in bad)
                ),
            ),
        )
        if bad
        else None,
    )


@check(
    "jit.flashinfer.compiler",
    "nvcc for FlashInfer",
    reads=("environment", "python", "toolkits"),
    reports=(
        "NVIDIA-NeMo/Gym#1405",
        "vllm-project/vllm#49497",
        "vllm-project/vllm#26642",
        "Dao-AILab/flash-attention#509",
    ),
    fix="Install nvcc, or the wheel with all kernels, or leave FlashInfer's sampler out.",
)
def compiler(context: Context) -> Iterator[Finding]:
    """Whether FlashInfer finds an nvcc, or has its kernels already.

    The wheels of torch bring the CUDA run time and no compiler. FlashInfer compiles its sampler
    when a server starts, and the server ends with "Could not find nvcc". That nvcc answers in
    somebody's shell is no proof: FlashInfer looks in CUDA_HOME, CUDA_PATH, on PATH and in
    /usr/local/cuda.
    """
    if not context.target.serves:
        return
    python = context.need("python", context.snapshot.python)
    main = python.distribution("flashinfer-python")
    if main is None:
        return
    toolkit = runtime_toolkit(context, "flashinfer")
    cached = python.distribution("flashinfer-jit-cache")
    good = toolkit is not None and toolkit.nvcc_version is not None
    if good or (cached is not None and cached.version.partition("+")[0] == main.version):
        yield Finding(
            "jit.flashinfer.compiler",
            "pass",
            "FlashInfer finds nvcc" if good else "FlashInfer has its kernels in a wheel",
            found=(toolkit.nvcc or "")
            if good and toolkit
            else f"flashinfer-jit-cache {main.version}",
            expected="nvcc, or flashinfer-jit-cache",
            source=(stack.rule("flashinfer.nvcc").source,),
        )
        return
    context.need_whole("python.distributions")
    yield _no_compiler(context, toolkit, python.executable, main.version)


def _no_compiler(
    context: Context, toolkit: Toolkit | None, executable: str, version: str
) -> Finding:
    off = (context.snapshot.environment or {}).get("VLLM_USE_FLASHINFER_SAMPLER") == "0"
    where = toolkit.root if toolkit is not None else "CUDA_HOME, CUDA_PATH, PATH, /usr/local/cuda"
    kind = " (a toolkit with the run time only)" if toolkit is not None else ""
    cuda = context.release.main_cuda.value
    return Finding(
        "jit.flashinfer.compiler",
        "warn" if off or context.target.purpose == "all" else "fail",
        f"FlashInfer {version} finds no nvcc{kind}: its sampler cannot be compiled at start",
        found="none",
        expected="nvcc where FlashInfer looks, or flashinfer-jit-cache of the same version",
        evidence=(Evidence("no nvcc", where),),
        source=(stack.rule("flashinfer.nvcc").source,),
        remedy=Remedy(
            f"one of three: the compiler of CUDA {cuda} from pip with CUDA_HOME on it (or"
            " `dsv4-doctor toolchain`); flashinfer-cubin and flashinfer-jit-cache in exactly the"
            f" version {version}; or a server without FlashInfer's sampler",
            (
                Command(argv=("dsv4-doctor", "toolchain")),
                remedies.pip_install(executable, f"flashinfer-cubin=={version}"),
                Command(env={"VLLM_USE_FLASHINFER_SAMPLER": "0"}),
            ),
        ),
    )
