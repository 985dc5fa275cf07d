"""Whether an image will start on this driver, by what it demands of the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks import cuda_library, require_cuda, selection, severity
from dsv4_doctor.checks.container import engine_of, inside
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.knowledge import load
from dsv4_doctor.report import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.facts.driver import Driver


@check(
    "container.image.driver",
    "driver for the image",
    reads=("containers", "driver", "environment", "gpus", "host"),
    reports=("vllm-project/vllm#5635", "NVIDIA/nvidia-container-toolkit#152"),
    fix="Update the driver, or take an image of an older CUDA.",
)
def image(context: Context) -> Iterator[Finding]:
    """Whether this driver satisfies what the image demands.

    Images of CUDA carry NVIDIA_REQUIRE_CUDA, and the runtime refuses to start them on an older
    driver; rebuilt under the same tag they can demand more than before. In a container its own
    value is read, on a machine with an engine the CUDA of the release's own image.
    """
    driver = context.snapshot.driver
    environ = context.snapshot.environment or {}
    if driver is None or driver.cuda is None or not context.target.serves:
        return
    requirement = environ.get("NVIDIA_REQUIRE_CUDA", "")
    if requirement:
        yield from _required(context, driver, requirement)
        return
    containers = context.snapshot.containers
    if containers is None or engine_of(containers) is None or inside(context):
        return
    argument, name = load.docker()["CUDA_VERSION"], context.release.name
    base = (argument.says(name) or {}).get("default")
    if base is None or selection.release_of(driver.cuda) >= selection.release_of(base):
        return
    yield Finding(
        "container.image.driver",
        "warn",
        f"vLLM's own image of {context.release.name} is of CUDA {base}, the driver of"
        f" CUDA {driver.cuda}: its container may be refused (NVIDIA_REQUIRE_CUDA)",
        found=f"driver {driver.nvml or driver.kernel_module or 'of unknown version'},"
        f" CUDA {driver.cuda}",
        expected=f"a driver of CUDA >= {base}",
        evidence=(Evidence(f"CUDA {driver.cuda}", "NVML, nvmlSystemGetCudaDriverVersion"),),
        source=(argument.place_in(name).source(f"CUDA_VERSION={base}"),),
        remedy=_update(context),
    )


def _required(context: Context, driver: Driver, requirement: str) -> Iterator[Finding]:
    gpus = context.snapshot.gpus or ()
    brand = gpus[0].brand if gpus else None
    met = require_cuda.satisfied(
        requirement, cuda=driver.cuda, driver=driver.nvml or driver.kernel_module, brand=brand
    )
    if met is None:
        return
    yield Finding(
        "container.image.driver",
        "pass" if met else severity.serving_fault(context.target),
        "the driver satisfies what this image demands"
        if met
        else f"the image demands {requirement.partition(' ')[0]}, the driver is of CUDA"
        f" {driver.cuda}",
        found=f"driver {driver.nvml or driver.kernel_module or 'not told'}, CUDA {driver.cuda}",
        expected=requirement,
        evidence=(Evidence(requirement, "NVIDIA_REQUIRE_CUDA"),),
        remedy=None if met else _update(context),
    )


def _update(context: Context) -> Remedy:
    board = cuda_library.consumer(context.snapshot.gpus or ())
    text = "update the driver, or take an image of an older CUDA"
    if board is None:
        text += "; a data-centre GPU can start it with NVIDIA_DISABLE_REQUIRE=1 and cuda-compat"
    return Remedy(text)
