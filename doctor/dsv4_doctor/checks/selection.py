"""Which of several toolkits, GPUs and architectures the checks are about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from dsv4_doctor.arch import Arch

if TYPE_CHECKING:
    from dsv4_doctor.checks.registry import Context
    from dsv4_doctor.facts.toolkit import Toolkit


def toolkit(context: Context) -> Toolkit | None:
    """Return the toolkit that a build would use here: the one that torch picks.

    torch's rule comes first because vLLM's setup.py takes ``CUDA_HOME`` from torch. Where it
    picks nothing, the newest complete toolkit found is the one that a remedy can point to.
    """
    toolkits = context.need("toolkits", context.snapshot.toolkits)
    by_root = {each.root: each for each in toolkits.found}
    if toolkits.picks.torch in by_root:
        return by_root[toolkits.picks.torch]
    with_compiler = [each for each in toolkits.found if each.nvcc_version]
    return max(with_compiler, key=lambda each: version(each.nvcc_version), default=None)


def gpu_archs(context: Context) -> tuple[Arch, ...]:
    """Return the architectures of the GPUs found, each once, in order of the GPUs."""
    gpus = context.snapshot.gpus or ()
    archs = [Arch.parse(gpu.compute_capability) for gpu in gpus if gpu.compute_capability]
    return tuple(dict.fromkeys(archs))


def wanted_archs(context: Context) -> tuple[Arch, ...]:
    """Return the architectures that were asked for, or those of the GPUs found."""
    return context.target.parsed_archs or gpu_archs(context)


def version(text: str | None) -> Version:
    """Return a version that compares; 0 for one that cannot be read."""
    try:
        return Version(text or "0")
    except InvalidVersion:
        return Version("0")


def release_of(text: str) -> Version:
    """Return ``major.minor`` of a version, which is how CUDA releases are compared."""
    parsed = version(text)
    return Version(f"{parsed.major}.{parsed.minor}")
