"""Whether CUDA itself starts: NVML and nvidia-smi can be well while it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.report import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.facts.driver import CudaStart
    from dsv4_doctor.knowledge.cuda_errors import CudaError

_WHERE = "cuInit and cuDeviceGetCount, in a process of their own"


@check(
    "driver.cuda.start",
    "start of CUDA",
    reads=("driver", "environment", "gpus"),
    reports=(
        "pytorch/pytorch#35710",
        "ollama/ollama#12136",
        "wilicc/gpu-burn#133",
        "gpustack/gpustack#4678",
        "vllm-project/vllm#5283",
    ),
    fix="Mend what the error says: 802 fabric manager, 803 another libcuda, 804 cuda-compat.",
)
def starts(context: Context) -> Iterator[Finding]:
    """Whether ``cuInit`` succeeds and counts the GPUs that NVML sees.

    The driver answers ``nvidia-smi`` long before CUDA works: errors 802, 803 and 804 are three
    different faults, and none of them shows there. Asked in a process of its own, under a limit;
    on an H200 host that nobody uses it takes about 0.2 s a GPU, which is most of a check's time.
    """
    if not context.target.serves:
        return
    start = context.need("driver", context.snapshot.driver).start
    if start is None:
        return
    if start.code is None:
        yield _silent(start)
    elif start.code != 0:
        yield _error(start.code)
    else:
        yield _counted(context, start.devices)


def _silent(start: CudaStart) -> Finding:
    return Finding(
        "driver.cuda.start",
        "unknown",
        f"whether CUDA starts could not be told: {start.error or 'it gives no reason'}",
        found=start.error or "no answer",
        expected="success",
        evidence=(Evidence(start.error or "no answer", _WHERE),),
        remedy=Remedy(
            "try it by hand: python3 -c 'import ctypes; "
            'print(ctypes.CDLL("libcuda.so.1").cuInit(0))\'; a call that hangs is a GPU or a driver'
            " in trouble: look for NVRM lines in the kernel's log"
        ),
    )


def _error(code: int) -> Finding:
    known = _known(code)
    title = f"CUDA does not start: error {code}"
    return Finding(
        "driver.cuda.start",
        "fail",
        f"{title}, {known.title}" if known else title,
        found=f"{code} {known.name}" if known else str(code),
        expected="0, success",
        evidence=(
            Evidence(f"error {code}", _WHERE),
            *(Evidence(cause, "what this error comes from") for cause in _causes(code)),
        ),
        source=(known.place.source(f"{known.name} = {code}"),) if known else (),
        remedy=Remedy(known.remedy if known else "look for NVRM lines in the kernel's log"),
    )


def _known(code: int) -> CudaError | None:
    # Imported here: CUDA starts on most machines.
    from dsv4_doctor.knowledge.cuda_errors import cuda_errors  # noqa: PLC0415

    return cuda_errors().get(code)


def _causes(code: int) -> tuple[str, ...]:
    known = _known(code)
    return known.causes if known else ()


def _counted(context: Context, devices: int | None) -> Finding:
    gpus = context.snapshot.gpus or ()
    environ = context.snapshot.environment or {}
    chosen = "CUDA_VISIBLE_DEVICES" in environ or any(gpu.mig for gpu in gpus)
    count = devices or 0
    fewer = count < len(gpus) and not chosen
    return Finding(
        "driver.cuda.start",
        "fail" if fewer else "pass",
        f"CUDA starts, but sees {count} of {len(gpus)} GPUs"
        if fewer
        else f"CUDA starts and sees {count} GPU{'' if count == 1 else 's'}",
        found=f"{count} for CUDA, {len(gpus)} for NVML",
        expected="the same GPUs for CUDA as for NVML",
        evidence=(Evidence(f"success, {count} devices", _WHERE),),
        remedy=Remedy(
            "look in the kernel's log for NVRM lines of the GPU that is missing, and whether this"
            " user may open its /dev/nvidia file"
        )
        if fewer
        else None,
    )
