"""Which ``libcuda.so.1`` a program gets: the driver's own, or one that a package put before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks import selection
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.knowledge import machine
from dsv4_doctor.report import Command, Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.citation import Source
    from dsv4_doctor.facts.driver import CudaLibrary, Driver
    from dsv4_doctor.facts.gpu import Gpu

_NEVER = ("geforce", "titan")
_SOMETIMES = ("rtx", "quadro")
# The driver's library is tens of megabytes; what is this small has no functions of the driver.
_STAND_IN = 1 << 20
_SWITCH = "VLLM_ENABLE_CUDA_COMPATIBILITY"
_TRUE = frozenset({"1", "true"})


def _listed(driver: Driver) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(f"{each.version or 'no version in its name'}: {each.real}", f"{each.found_by}")
        for each in driver.libcuda
    )


def _own(driver: Driver) -> str | None:
    """Return the version that the kernel module has, by itself or by NVML."""
    return driver.kernel_module or driver.nvml


def consumer(gpus: tuple[Gpu, ...]) -> Gpu | None:
    """Return the first GPU that forward compatibility is never supported on."""
    names = ((gpu, f"{gpu.brand or ''} {gpu.name}".lower()) for gpu in gpus)
    return next((gpu for gpu, name in names if any(word in name for word in _NEVER)), None)


@check(
    "driver.library.first",
    "libcuda that the loader takes",
    reads=("driver", "gpus"),
    reports=(
        "gpustack/gpustack#4678",
        "vllm-project/vllm#5283",
        "vllm-project/vllm#4940",
        "ls1intum/edutelligence#682",
    ),
    fix="Put the directory of the driver's own libcuda first, or remove cuda-compat.",
)
def first(context: Context) -> Iterator[Finding]:
    """Whether the first ``libcuda.so.1`` in the loader's order fits the kernel module.

    Images bring a libcuda of a cuda-compat package. Older than the driver it shadows the better
    one, and CUDA ends with error 803; newer than the driver it is forward compatibility, which
    only data-centre GPUs have, and ends with error 804 on others. An empty stand-in for linking
    has no functions at all.
    """
    if not context.target.serves:
        return
    driver = context.need("driver", context.snapshot.driver)
    own = _own(driver)
    if not driver.libcuda or own is None:
        return
    taken = driver.libcuda[0]
    if taken.version is None:
        if taken.size is not None and taken.size < _STAND_IN:
            yield _stand_in(driver, taken)
        return
    compare = selection.version(taken.version), selection.version(own)
    if compare[0] == compare[1]:
        yield _good(driver, f"programs get the libcuda of the driver, {own}")
    elif compare[0] < compare[1]:
        yield _shadowed(driver, taken, own)
    else:
        yield _newer(context, driver, taken, own)


def _good(driver: Driver, title: str) -> Finding:
    return Finding(
        "driver.library.first",
        "pass",
        title,
        found=driver.libcuda[0].path,
        expected="the driver's own libcuda",
        evidence=_listed(driver),
    )


def _stand_in(driver: Driver, taken: CudaLibrary) -> Finding:
    return Finding(
        "driver.library.first",
        "fail",
        f"the first libcuda.so.1 is a stand-in of {taken.size} bytes: {taken.path}",
        found=taken.real,
        expected="the driver's own libcuda, with its functions",
        evidence=_listed(driver),
        remedy=Remedy(
            "take its directory out of the loader's order; to link without a driver, use the"
            " libcuda.so in lib64/stubs of the CUDA toolkit, for linking alone"
        ),
    )


def _shadowed(driver: Driver, taken: CudaLibrary, own: str) -> Finding:
    better = next((each for each in driver.libcuda if each.version == own), None)
    directory = better.path.rpartition("/")[0] if better else "/usr/local/nvidia/lib64"
    return Finding(
        "driver.library.first",
        "fail",
        f"libcuda {taken.version} shadows that of the newer driver {own}: error 803",
        found=f"{taken.path} ({taken.version})",
        expected=f"libcuda {own} first",
        evidence=_listed(driver),
        source=(_mismatch(),),
        remedy=Remedy(
            f"put {directory} first, or remove the cuda-compat package and its file in"
            " /etc/ld.so.conf.d, then run ldconfig",
            (Command(env={"LD_LIBRARY_PATH": f"{directory}:$LD_LIBRARY_PATH"}),),
        ),
    )


def _mismatch() -> Source:
    from dsv4_doctor.knowledge.cuda_errors import cuda_errors  # noqa: PLC0415

    return cuda_errors()[803].place.source("803: libcuda and driver do not fit")


def _newer(context: Context, driver: Driver, taken: CudaLibrary, own: str) -> Finding:
    gpus = context.snapshot.gpus or ()
    rule = machine.values()["forward_compatibility"]
    never = consumer(gpus)
    names = " ".join(f"{gpu.brand or ''} {gpu.name}" for gpu in gpus).lower()
    doubtful = not gpus or any(word in names for word in _SOMETIMES)
    if never is None and not doubtful:
        return _good(driver, f"libcuda {taken.version} runs on driver {own} by compatibility")
    on = never.name if never is not None else "this GPU"
    return Finding(
        "driver.library.first",
        "fail" if never is not None else "warn",
        f"libcuda {taken.version} is newer than driver {own}: forward compatibility"
        f" {'does not exist' if never is not None else 'is not certain'} on {on}: error 804",
        found=f"{taken.path} ({taken.version})",
        expected=f"the libcuda of driver {own}, or a data-centre GPU",
        evidence=_listed(driver),
        source=(rule.source(f"forward compatibility: {rule.value}"),),
        remedy=Remedy(
            f"update the driver to {taken.version} or newer, or take an image or a torch of the"
            " CUDA that the driver has; nothing but the driver helps on this GPU"
        ),
    )


@check(
    "driver.library.switch",
    "switch for cuda-compat",
    reads=("driver", "environment", "gpus", "python"),
    reports=("vllm-project/vllm#33992",),
    fix="Unset VLLM_ENABLE_CUDA_COMPATIBILITY.",
)
def switch(context: Context) -> Iterator[Finding]:
    """Whether VLLM_ENABLE_CUDA_COMPATIBILITY is on where it cannot help.

    It puts the cuda-compat directory before everything else. On a driver that already runs the
    CUDA of torch that only shadows the better library, and GeForce boards have no forward
    compatibility.
    """
    environ = context.snapshot.environment or {}
    value = environ.get(_SWITCH, "")
    driver = context.snapshot.driver
    if (
        not context.target.serves
        or value.strip().lower() not in _TRUE
        or driver is None
        or driver.cuda is None
    ):
        return
    python = context.snapshot.python
    wheel = context.release.torch_cuda
    installed = python.torch.cuda if python is not None and python.torch is not None else None
    cuda = installed or (wheel.value if wheel is not None else None)
    new = cuda is not None and selection.release_of(driver.cuda) >= selection.release_of(cuda)
    never = consumer(context.snapshot.gpus or ())
    if not new and never is None:
        return
    why = (
        f"the driver already runs CUDA {driver.cuda}"
        if new
        else f"{never.name if never else 'the GPU'} has no forward compatibility"
    )
    rule = machine.values()["compatibility_switch"]
    yield Finding(
        "driver.library.switch",
        "fail",
        f"{_SWITCH}={value}, but {why}: error 803 or 804",
        found=f"{_SWITCH}={value}",
        expected="not set",
        evidence=(
            Evidence(f"{_SWITCH}={value}", "environment"),
            Evidence(f"CUDA {driver.cuda}", "NVML, nvmlSystemGetCudaDriverVersion"),
        ),
        source=(rule.source(f"{_SWITCH} puts cuda-compat before the driver's library"),),
        remedy=Remedy("unset it", (Command(unset=(_SWITCH,)),)),
    )


@check(
    "driver.library.link",
    "libcuda for linking",
    reads=("driver", "toolkits"),
    reports=("vllm-project/vllm#12505",),
    fix="Link libcuda.so to libcuda.so.1, or use the stubs of the CUDA toolkit.",
)
def link(context: Context) -> Iterator[Finding]:
    """Whether a linker finds ``libcuda.so`` for ``-lcuda`` where kernels are compiled at run time.

    A container gets ``libcuda.so.1`` from its runtime, but the linker looks for the name without
    the number. The toolkit has one under ``lib64/stubs``; without a toolkit Triton's and
    FlashInfer's link step ends with "cannot find -lcuda".
    """
    driver = context.snapshot.driver
    if (
        driver is None
        or not driver.libcuda
        or driver.libcuda_link is not None
        or not context.target.serves
    ):
        return
    if context.snapshot.toolkits is None or selection.toolkit(context) is not None:
        return
    place = driver.libcuda[0].path.rpartition("/")[0]
    yield Finding(
        "driver.library.link",
        "warn",
        "no libcuda.so for a linker: only libcuda.so.1 is there, and no toolkit with stubs",
        found=driver.libcuda[0].path,
        expected="libcuda.so beside it, or a CUDA toolkit with lib64/stubs",
        evidence=_listed(driver),
        remedy=Remedy(
            f"give the linker the name that it looks for in {place}",
            (Command(argv=("ln", "-s", "libcuda.so.1", f"{place}/libcuda.so"), root=True),),
        ),
    )
