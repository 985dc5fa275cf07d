"""The features that the target asks for: in the release, for these GPUs, with this nvcc."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks import remedies, selection
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.checks.toolkit import read_from
from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.model import accepts
from dsv4_doctor.report import Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.arch import Arch
    from dsv4_doctor.facts.toolkit import Toolkit
    from dsv4_doctor.knowledge.model import Feature
    from dsv4_doctor.report import Status


_RULES = ("release", "arch", "toolkit", "runtime")


def _ids() -> tuple[str, ...]:
    names = load.project().feature_titles
    return tuple(f"feature.{name}.{rule}" for name in names for rule in _RULES)


@check(
    "feature.target.available",
    "features",
    reads=("gpus", "toolkits"),
    reports=(
        "vllm-project/vllm#40802",
        "vllm-project/vllm#40903",
        "vllm-project/vllm#31480",
        "vllm-project/vllm#12429",
        "Dao-AILab/flash-attention#1853",
    ),
    fix="Choose a release, a GPU and a toolkit that have it, or name others with --feature.",
    gives=_ids,
)
def available(context: Context) -> Iterator[Finding]:
    """Whether the release has each feature, kernels of it for the GPU, and an nvcc for it.

    A feature brings others that it cannot run without: DeepSeek-V4 needs FlashMLA and DeepGEMM,
    which a build leaves out without an error when nvcc or the architectures do not qualify.

    Findings: ``feature.NAME.release``, ``.arch``, ``.toolkit`` and ``.runtime``.
    """
    for name in context.target.features:
        feature = context.release.features.get(name)
        if feature is None or not feature.present:
            yield _absent(context, name, feature)
            continue
        yield _present(context, feature)
        yield from _archs(context, feature)
        yield from _compiler(context, feature)
    for needed in _needed(context):
        yield from _compiler(context, needed)
        yield from _runtime(context, needed)


def _needed(context: Context) -> list[Feature]:
    """Return the features that the wanted ones need on the wanted architectures."""
    features = context.release.features
    names = dict.fromkeys(
        needed
        for name in context.target.features
        if name in features
        for needed in features[name].needs
        if needed not in context.target.features
    )
    archs = selection.wanted_archs(context)
    return [
        features[name]
        for name in names
        if name in features and selection.may_run(features[name], archs)
    ]


def _absent(context: Context, name: str, feature: Feature | None) -> Finding:
    release = (feature.last or feature.first) if feature is not None else ""
    return Finding(
        f"feature.{name}.release",
        "fail",
        f"vLLM {context.release.name} has {context.release.absence(name)}",
        found="absent",
        expected=name,
        source=tuple(place.source(name) for place in feature.places) if feature else (),
        remedy=Remedy(f"choose that release: --vllm {release}") if release else None,
    )


def _present(context: Context, feature: Feature) -> Finding:
    return Finding(
        f"feature.{feature.name}.release",
        "pass",
        f"vLLM {context.release.name} has {feature.name}",
        found=feature.note or "present",
        expected=feature.name,
        source=tuple(place.source(feature.name) for place in feature.places),
    )


def _archs(context: Context, feature: Feature) -> Iterator[Finding]:
    unknown = [name for name in feature.unknown if name in {"archs", "compute_majors"}]
    if not feature.archs and not feature.compute_majors and not unknown:
        return
    for arch in selection.wanted_archs(context):
        good = feature.has_kernels_for(arch)
        if good and unknown:
            yield _cannot_tell(context, feature, arch)
            continue
        kernels = ", ".join(each.sm for each in feature.archs)
        majors = ", ".join(f"{major}.x" for major in feature.compute_majors)
        expected = kernels or f"compute capability {majors}"
        status: Status = "pass" if good else _not_for(context, feature)
        yield Finding(
            f"feature.{feature.name}.arch",
            status,
            f"{feature.name} {'runs' if good else 'does not run'} on {arch.sm}"
            + ("" if good else f": it is for {expected}"),
            found=arch.sm,
            expected=expected,
            source=tuple(place.source(f"{feature.name}: {expected}") for place in feature.places),
            remedy=_elsewhere(context, feature, arch) if status in {"fail", "warn"} else None,
        )


def _elsewhere(context: Context, feature: Feature, arch: Arch) -> Remedy:
    """Name the next release that has the feature for a GPU, where one is known."""
    newer = [name for name in reversed(load.release_names()) if name != context.release.name]
    for name in newer:
        if selection.version(name) < context.release.version:
            continue
        other = load.release(name).features.get(feature.name)
        if other is not None and other.present and other.has_kernels_for(arch):
            return Remedy(f"choose vLLM {name}, the next known release with it for {arch.sm}")
    return Remedy(
        f"leave {feature.name} out, or choose an architecture that it supports: no newer known"
        f" release has it for {arch.sm}"
    )


def _cannot_tell(context: Context, feature: Feature, arch: Arch) -> Finding:
    return Finding(
        f"feature.{feature.name}.arch",
        "unknown",
        f"whether {feature.name} runs on {arch.sm} could not be read from"
        f" vLLM {context.release.name}",
        found="unknown",
        expected=feature.name,
        source=tuple(place.source(feature.name) for place in feature.places),
    )


def _not_for(context: Context, feature: Feature) -> Status:
    """How bad it is that a feature does not run on the GPU.

    Nobody who names no feature misses kernels that are for another GPU, such as FA3 on
    Blackwell; but that the model as such does not run is worth a word.
    """
    if context.target.features_asked:
        return "fail"
    return "skip" if feature.component else "warn"


def _compiler(context: Context, feature: Feature) -> Iterator[Finding]:
    toolkit = selection.toolkit(context)
    if not feature.nvcc or toolkit is None or not context.target.builds:
        return
    if toolkit.release is None:
        # That nvcc does not answer is a finding of its own; its version is not old but unknown.
        return
    good = _compiles(feature, toolkit)
    skipped = ": the build would skip it without an error" if feature.optional and not good else ""
    yield Finding(
        f"feature.{feature.name}.toolkit",
        "pass" if good else "fail",
        f"CUDA {toolkit.release} {'builds' if good else 'is too old for'} {feature.name}{skipped}",
        found=toolkit.nvcc_version or toolkit.release or "",
        expected=f"nvcc {feature.nvcc}",
        evidence=read_from(toolkit),
        source=tuple(place.source(f"nvcc {feature.nvcc}") for place in feature.places),
        remedy=None if good else remedies.install_toolkit(context.release.main_cuda.value),
    )


def _runtime(context: Context, feature: Feature) -> Iterator[Finding]:
    toolkit = selection.toolkit(context)
    wanted = feature.runtime_nvcc
    if wanted is None or toolkit is None or not toolkit.nvcc_version or not context.target.serves:
        return
    if "runtime_nvcc" in feature.unknown:
        yield _runtime_unknown(context, feature, toolkit.nvcc_version)
        return
    good = accepts(wanted, toolkit.nvcc_version)
    yield Finding(
        f"feature.{feature.name}.runtime",
        "pass" if good else "fail",
        f"nvcc {toolkit.nvcc_version} {'compiles' if good else 'is too old for'}"
        f" {feature.name}'s kernels at run time",
        found=toolkit.nvcc_version,
        expected=f"nvcc {wanted}",
        evidence=read_from(toolkit),
        source=tuple(place.source(f"nvcc {wanted} at run time") for place in feature.places),
        remedy=None if good else remedies.install_toolkit(context.release.main_cuda.value),
    )


def _runtime_unknown(context: Context, feature: Feature, nvcc: str) -> Finding:
    return Finding(
        f"feature.{feature.name}.runtime",
        "unknown",
        f"which nvcc compiles {feature.name}'s kernels at run time could not be read from"
        f" vLLM {context.release.name}",
        found=nvcc,
        expected="the nvcc that its pinned source asks for",
        source=tuple(place.source(feature.name) for place in feature.places),
    )


def _compiles(feature: Feature, toolkit: Toolkit) -> bool:
    return accepts(feature.nvcc, toolkit.nvcc_version or toolkit.release or "")
