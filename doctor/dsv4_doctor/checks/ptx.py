"""PTX in the installed modules, and whether the driver can compile it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.arch import Arch
from dsv4_doctor.checks import selection
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.report import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.facts.python import DeviceCode
    from dsv4_doctor.report import Status


@check(
    "arch.installed.ptx",
    "PTX and the driver",
    reads=("driver", "gpus", "python"),
    reports=("vllm-project/vllm#38669", "vllm-project/vllm#40760", "vllm-project/vllm#47397"),
    fix="Update the driver, or install a vLLM with machine code for this GPU.",
)
def compiles(context: Context) -> Iterator[Finding]:
    """Whether the driver can compile the PTX that the installed modules carry for these GPUs.

    A driver runs machine code of any CUDA of its major version, but compiles PTX only up to its
    own CUDA: "the provided PTX was compiled with an unsupported toolchain". FlashAttention 2 and
    Marlin have only PTX for many GPUs.
    """
    if not context.target.serves:
        return
    python = context.need("python", context.snapshot.python)
    driver = context.need("driver", context.snapshot.driver)
    built = python.torch.cuda if python.torch is not None else None
    archs = selection.gpu_archs(context)
    modules = [each for each in python.binaries if each.owner == "vllm" and each.ptx]
    if not archs or not modules or not built or not driver.cuda:
        return
    older = selection.release_of(driver.cuda) < selection.release_of(built)
    only = [each for each in modules if any(_only_ptx(each, arch) for arch in archs)]
    status: Status = "pass" if not older else ("fail" if only else "warn")
    names = ", ".join(_stem(each) for each in only or modules)
    yield Finding(
        "arch.installed.ptx",
        status,
        f"the driver is of CUDA {driver.cuda} and compiles the PTX of CUDA {built}"
        if not older
        else f"the driver is of CUDA {driver.cuda}: PTX of CUDA {built} in {names} cannot be"
        f" compiled" + ("" if only else ", and kernels without machine code for this GPU fail"),
        found=f"driver: CUDA {driver.cuda}",
        expected=f"a driver of CUDA {built} or newer",
        evidence=(
            Evidence(f"CUDA {driver.cuda}", "driver"),
            *(Evidence(f"PTX {', '.join(each.ptx)}", each.path) for each in only or modules),
        ),
        remedy=None
        if not older
        else Remedy(
            f"update the driver to one of CUDA {built}, or install a vLLM built with CUDA"
            f" {driver.cuda} or older; machine code for exactly this GPU needs neither"
        ),
    )


def _only_ptx(code: DeviceCode, arch: Arch) -> bool:
    # Imported here: it is needed only where vLLM is installed.
    from dsv4_doctor.binary.compatibility import runs_on  # noqa: PLC0415

    return not runs_on(arch.base, [Arch.parse(each) for each in code.sass], []).runs


def _stem(code: DeviceCode) -> str:
    return code.path.rpartition("/")[2].partition(".")[0]
