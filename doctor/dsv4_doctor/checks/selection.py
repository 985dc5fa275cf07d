"""Which of several toolkits, GPUs and architectures the checks are about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from dsv4_doctor.arch import Arch
from dsv4_doctor.checks.untold import if_told

if TYPE_CHECKING:
    from dsv4_doctor.checks.registry import Context
    from dsv4_doctor.facts.toolkit import Toolkit
    from dsv4_doctor.knowledge.model import Feature


def toolkit(context: Context) -> Toolkit | None:
    """Return the toolkit that a build would use here: the one that torch picks.

    torch's rule comes first because vLLM's setup.py takes ``CUDA_HOME`` from torch. Where it
    picks nothing, the newest complete toolkit found is the one that a remedy can point to.
    """
    toolkits = context.need("toolkits", context.snapshot.toolkits)
    by_root = {each.root: each for each in toolkits.found}
    # A text names one nvcc and not who would take it; it is the best that can be judged.
    picked = if_told(lambda: toolkits.picks.torch)
    if picked in by_root:
        return by_root[picked]
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


def needed_features(context: Context) -> tuple[Feature, ...]:
    """Return the wanted features and those that they need, as far as a wanted GPU may run them."""
    features = context.release.features
    wanted = [features[name] for name in context.target.features if name in features]
    names = dict.fromkeys(
        [each.name for each in wanted] + [needed for each in wanted for needed in each.needs]
    )
    archs = wanted_archs(context)
    return tuple(
        features[name]
        for name in names
        if name in features and features[name].present and may_run(features[name], archs)
    )


def may_run(feature: Feature, archs: tuple[Arch, ...]) -> bool:
    """Whether a feature runs on one of the GPUs, as far as that is known."""
    majors = feature.compute_majors
    return not majors or any(arch.major in majors for arch in archs)
