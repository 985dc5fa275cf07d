"""TORCH_CUDA_ARCH_LIST as somebody else set it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dsv4_doctor.arch import Arch
from dsv4_doctor.checks import selection
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.report import Command, Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.report import Status

_NAME = "TORCH_CUDA_ARCH_LIST"


@check(
    "arch.list.release",
    "TORCH_CUDA_ARCH_LIST and the release",
    reads=("environment", "gpus", "toolkits"),
    reports=("vllm-project/vllm#2021", "vllm-project/vllm#19328"),
    fix="Unset it, or set it to the GPUs that the build is for.",
)
def release(context: Context) -> Iterator[Finding]:
    """Whether the architectures that the environment asks for are built, and are those wanted.

    NVIDIA's images set TORCH_CUDA_ARCH_LIST. vLLM leaves out what it does not support, and a list
    without the GPU that the build is for makes a library that does not run there.
    """
    value = (context.snapshot.environment or {}).get(_NAME)
    if not context.target.builds or not value:
        return
    asked = list(_archs(value))
    if not asked:
        return
    toolkit = selection.toolkit(context) if context.snapshot.toolkits is not None else None
    nvcc = (
        toolkit.nvcc_version if toolkit is not None else None
    ) or context.release.main_cuda.value
    supported = context.release.archs_for(nvcc)
    alien = [arch for arch in asked if supported is not None and not supported.covers(arch.base)]
    wanted = selection.wanted_archs(context)
    missing = [arch for arch in wanted if not any(_serves(each, arch) for each in asked)]
    status: Status = "fail" if missing else ("warn" if alien else "pass")
    parts = [f"does not cover {', '.join(arch.dotted for arch in missing)}"] if missing else []
    if alien:
        names = ", ".join(arch.dotted for arch in alien)
        parts.append(f"names {names}, which vLLM {context.release.name} leaves out")
    good = ",".join(arch.dotted for arch in wanted)
    yield Finding(
        "arch.list.release",
        status,
        f"{_NAME} {' and '.join(parts)}" if parts else f"{_NAME} fits the release and the GPUs",
        found=value,
        expected=good or "architectures that the release supports",
        evidence=(Evidence(value, f"{_NAME} in the environment"),),
        source=(supported.place.source(f"CUDA_SUPPORTED_ARCHS with nvcc {supported.nvcc}"),)
        if supported is not None
        else (),
        remedy=None
        if status == "pass"
        else Remedy(
            "set it to the GPUs that the build is for",
            (Command(env={_NAME: good.replace(",", ";")}) if good else Command(unset=(_NAME,)),),
        ),
    )


def _archs(value: str) -> Iterator[Arch]:
    """Yield the architectures of a list; what is none has a finding of its own."""
    parts = re.split(r"[;,\s]+", value)
    yield from (arch for part in parts if (arch := _arch(part)) is not None)


def _arch(part: str) -> Arch | None:
    try:
        return Arch.parse(part.removesuffix("+PTX"))
    except ValueError:
        return None


def _serves(built: Arch, arch: Arch) -> bool:
    """Whether machine code for one architecture runs on another: same major, not newer.

    Code for 8.0 is not for the Jetson's 8.7, nor the other way round.
    """
    if built.suffix == "a" or 87 in {built.number, arch.number}:
        return built.number == arch.number
    return built.major == arch.major and built.minor <= arch.minor
