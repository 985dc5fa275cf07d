"""Which code runs on which GPU.

The rules and where they stand are in ``knowledge/gpu_archs.json``; the table of torch is the
oracle for machine code, ptxas 13.0.88 the one for PTX.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dsv4_doctor.knowledge.gpu_archs import gpu_arch

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dsv4_doctor.arch import Arch


@dataclass(frozen=True)
class Verdict:
    """Whether some code runs on a GPU.

    Attributes:
        gpu: The GPU.
        runs: Whether it does.
        how: As machine code, compiled by the driver from PTX, or not at all.
        arch: The code that it runs, ``None`` when there is none.
        reason: Why, in words.
    """

    gpu: Arch
    runs: bool
    how: Literal["sass", "ptx", "none"]
    arch: Arch | None
    reason: str


def sass_runs_on(gpu: Arch, code: Arch) -> bool:
    """Whether a GPU runs machine code for an architecture.

    Where NVIDIA gives no guarantee, as between discrete GPUs and Jetson Orin (8.7), this is no.
    """
    device, compiled = gpu.base, code.base
    if gpu_arch(compiled).renamed == device:
        compiled = device
    if code.suffix == "a" or device == compiled:
        return device == compiled
    if code.suffix == "f":
        return _same_family(device, compiled)
    if gpu_arch(device).isolated or gpu_arch(compiled).isolated:
        return False
    return device.major == compiled.major and device.minor >= compiled.minor


def ptx_runs_on(gpu: Arch, code: Arch) -> bool:
    """Whether a driver can compile PTX for an architecture for this GPU."""
    device, compiled = gpu.base, code.base
    if code.suffix == "a":
        return device == compiled
    if code.suffix == "f":
        return device == compiled or _same_family(device, compiled)
    return device >= compiled


def runs_on(
    gpu: Arch,
    sass: Iterable[Arch],
    ptx: Iterable[Arch],
    *,
    ptx_isa: Mapping[Arch, str] | None = None,
    driver_isa: str | None = None,
) -> Verdict:
    """Say whether a GPU can run something of which there is this code.

    Args:
        gpu: The GPU's architecture.
        sass: Architectures with machine code.
        ptx: Architectures with PTX.
        ptx_isa: PTX ISA version that each of ``ptx`` is written in, as far as known.
        driver_isa: Newest PTX ISA version that the driver knows, ``None`` when not known.
    """
    sass, ptx = sorted(sass), sorted(ptx)
    native = [code for code in sass if sass_runs_on(gpu, code)]
    if native:
        best = native[-1]
        return Verdict(gpu, True, "sass", best, f"{best} machine code runs on {gpu.base.dotted}")
    versions = ptx_isa or {}
    portable = [code for code in ptx if ptx_runs_on(gpu, code)]
    for code in reversed(portable):
        version = versions.get(code)
        if version is None or driver_isa is None or isa_key(version) <= isa_key(driver_isa):
            reason = f"the driver compiles {code.compute} PTX for {gpu.base.dotted} at first use"
            return Verdict(gpu, True, "ptx", code, reason)
    if portable:
        code = portable[-1]
        reason = (
            f"{code.compute} PTX is written in ISA {versions[code]}; the driver knows "
            f"ISA {driver_isa} at most"
        )
        return Verdict(gpu, False, "none", None, reason)
    return Verdict(gpu, False, "none", None, _why_not(gpu, sass, ptx))


def isa_key(text: str) -> tuple[int, ...]:
    """Return what orders PTX ISA versions such as ``8.7``, and CUDA versions."""
    return tuple(int(part) for part in text.split("."))


def _same_family(device: Arch, compiled: Arch) -> bool:
    family = gpu_arch(device).family
    return family is not None and family == gpu_arch(compiled).family and device >= compiled


def limits(gpu: Arch, sass: Iterable[Arch], ptx: Iterable[Arch]) -> list[str]:
    """Return why none of this code is for a GPU, a clause for each architecture."""
    return [f"{code} {_limit(gpu, code)}" for code in sass] + [
        f"{code.compute} PTX {_ptx_limit(code)}" for code in ptx
    ]


def _why_not(gpu: Arch, sass: list[Arch], ptx: list[Arch]) -> str:
    if not sass and not ptx:
        return "there is no device code at all"
    return f"nothing runs on {gpu.base.dotted}: {'; '.join(limits(gpu, sass, ptx))}"


def _limit(gpu: Arch, code: Arch) -> str:
    if code.suffix == "a":
        return f"runs on {code.base.dotted} only"
    if code.suffix == "f":
        return f"runs in the family of {code.base.dotted}, from it up"
    if code.major == gpu.major and (gpu_arch(gpu).isolated or gpu_arch(code).isolated):
        return "is not guaranteed to run between integrated and discrete GPUs"
    return f"runs on {code.major}.x from {code.base.dotted} up"


def _ptx_limit(code: Arch) -> str:
    if code.suffix == "a":
        return f"is for {code.base.dotted} only"
    if code.suffix == "f":
        return f"is for the family of {code.base.dotted}, from it up"
    return f"is for {code.base.dotted} and newer"
