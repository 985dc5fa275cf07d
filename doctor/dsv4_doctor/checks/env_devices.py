"""Environment variables that choose GPUs, or slow them down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks import selection, severity
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.knowledge import machine
from dsv4_doctor.report import Command, Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.report import Status

_VISIBLE = "CUDA_VISIBLE_DEVICES"
_TRUE = frozenset({"1", "true", "yes", "on"})


def _unset(name: str) -> Remedy:
    return Remedy(f"unset {name}", (Command(unset=(name,)),))


@check(
    "env.cuda.visible_devices",
    "CUDA_VISIBLE_DEVICES",
    reads=("environment", "gpus"),
    reports=("vllm-project/vllm#41848",),
    fix="Name GPUs that exist by number, or unset it.",
)
def visible_devices(context: Context) -> Iterator[Finding]:
    """Whether CUDA_VISIBLE_DEVICES names GPUs that exist, in a form that the release reads.

    Empty it hides all GPUs. A number beyond them hides those that follow. Older releases take
    each entry for a number and end with "invalid literal for int()" on a UUID of a GPU or of a
    MIG instance.
    """
    environ = context.snapshot.environment or {}
    if _VISIBLE not in environ or not context.target.serves:
        return
    value = environ[_VISIBLE]
    status, title = _judge(context, value)
    floor = machine.values()["device_uuid"]
    yield Finding(
        "env.cuda.visible_devices",
        status,
        title,
        found=f"{_VISIBLE}={value}",
        expected=f"numbers of GPUs that exist; from vLLM {floor.value} on also their UUIDs",
        evidence=(
            Evidence(f"{_VISIBLE}={value}", "environment"),
            *(
                (Evidence(f"{len(context.snapshot.gpus)} GPUs", "NVML"),)
                if context.snapshot.gpus
                else ()
            ),
        ),
        source=(floor.source(f"UUIDs are read from vLLM {floor.value} on"),),
        remedy=None
        if status == "pass"
        else Remedy(f"name GPUs by number, or unset {_VISIBLE}", (Command(unset=(_VISIBLE,)),)),
    )


def _judge(context: Context, value: str) -> tuple[Status, str]:
    if not value.strip():
        status = severity.missing_for_serving(context.target)
        return status, f"{_VISIBLE} is empty: it hides all GPUs"
    entries = [each.strip() for each in value.split(",")]
    named = [each for each in entries if each.upper().startswith(("GPU-", "MIG-"))]
    floor = machine.values()["device_uuid"].value
    if named and context.release.version < selection.version(floor):
        return (
            severity.serving_fault(context.target),
            f"vLLM {context.release.name} cannot read {named[0]} in {_VISIBLE}: it takes numbers",
        )
    others = [each for each in entries if each not in named]
    fault = _fault(others, len(context.snapshot.gpus or ()))
    if fault is None and len(set(entries)) < len(entries):
        fault = "names a GPU twice, and CUDA then sees none"
    return ("warn", f"{_VISIBLE}={value} {fault}") if fault else ("pass", f"{_VISIBLE}={value}")


def _fault(entries: list[str], count: int) -> str | None:
    """Say what is wrong with the numbers, of which there may be none."""
    for each in entries:
        if not each.removeprefix("-").isdecimal():
            return f"has {each!r}, which is neither a number nor a UUID"
        if each.startswith("-"):
            return "has a negative number, which hides what follows"
        if count and int(each) >= count:
            return f"names GPU {each}, but there are {count}: it and what follows are hidden"
    return None


@check(
    "env.cuda.launch_blocking",
    "CUDA_LAUNCH_BLOCKING",
    reads=("environment",),
    fix="Unset CUDA_LAUNCH_BLOCKING.",
)
def blocking(context: Context) -> Iterator[Finding]:
    """Whether every kernel launch waits for its kernel.

    It is for debugging: a server runs at a fraction of its speed with it, and CUDA graphs cannot
    be captured.
    """
    environ = context.snapshot.environment or {}
    value = environ.get("CUDA_LAUNCH_BLOCKING", "")
    if value.strip().lower() not in _TRUE or not context.target.serves:
        return
    yield Finding(
        "env.cuda.launch_blocking",
        "warn",
        f"CUDA_LAUNCH_BLOCKING={value}: every kernel is waited for",
        found=f"CUDA_LAUNCH_BLOCKING={value}",
        expected="not set, except while debugging",
        evidence=(Evidence(f"CUDA_LAUNCH_BLOCKING={value}", "environment"),),
        remedy=_unset("CUDA_LAUNCH_BLOCKING"),
    )


@check(
    "env.loader.preload",
    "LD_PRELOAD",
    reads=("environment",),
    fix="Unset LD_PRELOAD.",
)
def preload(context: Context) -> Iterator[Finding]:
    """Whether a library of CUDA or of the driver is forced into every program.

    Each compiler, each tool and each worker loads it before its own: a wheel's library of another
    release then mixes with it, and so does a stub.
    """
    environ = context.snapshot.environment or {}
    entries = environ.get("LD_PRELOAD", "").replace(":", " ").split()
    forced = [each for each in entries if _of_cuda(each.rpartition("/")[2]) or "/stubs/" in each]
    if not forced:
        return
    yield Finding(
        "env.loader.preload",
        "warn",
        f"LD_PRELOAD forces {forced[0]} into every program",
        found=" ".join(entries),
        expected="no library of CUDA in LD_PRELOAD",
        evidence=(Evidence(" ".join(entries), "LD_PRELOAD"),),
        remedy=_unset("LD_PRELOAD"),
    )


def _of_cuda(name: str) -> bool:
    return name.startswith(
        ("libcuda", "libcudart", "libcublas", "libnvidia", "libnccl", "libtorch")
    )
