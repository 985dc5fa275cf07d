"""How much of a tree is built, for what, and what of it will be proved."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dsv4_build import only
from dsv4_build.handover import needs
from dsv4_doctor.arch import Arch
from dsv4_doctor.binary.requirements import parse_requirements
from dsv4_doctor.errors import UsageError
from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.kernels import families
from dsv4_doctor.probes.cuda_early import has_gpu
from dsv4_doctor.target import parse_archs, parse_features, require_features

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsv4_build.only import Narrowed
    from dsv4_build.request import BuildRequest
    from dsv4_build.tree import Tree
    from dsv4_doctor.knowledge.model import ExternalProject, Feature
    from dsv4_doctor.snapshot import Snapshot

_NO_ARCH = "no architecture to build for: this machine has no GPU that tells its own"
_NO_ARCH_HINT = "--arch sm_90, for Hopper"


@dataclass(frozen=True)
class Scope:
    """What the build covers.

    Attributes:
        archs: Architectures without suffixes: the tree adds those itself.
        features: What will be proved.
        require: What the proof is asked for: names of features and architectures.
        only: What the build is narrowed to, ``None`` for the whole wheel.
        left_out: External projects that are not fetched.
        modules: Features that were asked for and whose module has to be there.
    """

    archs: tuple[Arch, ...]
    features: tuple[Feature, ...]
    require: tuple[str, ...]
    only: Narrowed | None = None
    left_out: tuple[ExternalProject, ...] = ()
    notes: tuple[str, ...] = ()
    modules: tuple[Feature, ...] = ()


def decide(request: BuildRequest, tree: Tree, snapshot: Snapshot) -> Scope:
    """Decide what is built and what is proved.

    Raises:
        UsageError: An architecture or feature does not exist, the tree does not have it, or it
            has no code for these architectures.
    """
    asked = asked_archs(request, snapshot)
    named, exact = _split(request.features)
    archs = tuple(dict.fromkeys(arch.base for arch in asked))
    # A feature that is others together is proved by those, as far as their kernels are known.
    parts = needs.modules(named, tree.features, archs)
    names = [each for each in named if not _is_compound(tree, each)]
    names += [each.name for each in parts if each.name not in named and _has_kernels(each)]
    narrowed = only.resolve(request.only, tree.features, tree.components) if request.only else None
    features = _features(names, tree, archs, narrowed)
    suffixed = [arch for arch in asked if arch.suffix]
    notes = [
        f"{arch.sm} was asked for: the tree is built for {arch.base.dotted} and adds the suffix "
        "where a kernel needs it; the proof asks for it"
        for arch in suffixed
    ]
    wanted = [arch for feature in features for arch in code_archs(feature, archs)]
    code = dict.fromkeys([*(arch.sm for arch in (*wanted, *suffixed)), *exact])
    return Scope(
        archs=archs,
        features=features,
        require=(*(feature.name for feature in features), *code),
        only=replace(narrowed, tested=request.gpu_test) if narrowed is not None else None,
        left_out=only.left_out(narrowed, tree.projects) if narrowed is not None else (),
        notes=tuple(notes),
        modules=parts,
    )


def _is_compound(tree: Tree, name: str) -> bool:
    feature = tree.features.get(name)
    return feature is not None and feature.present and bool(feature.needs)


def code_archs(feature: Feature, archs: Sequence[Arch]) -> tuple[Arch, ...]:
    """Return the architectures of the machine code that a build for ``archs`` has of a feature."""
    if not feature.archs:
        return tuple(archs)
    return tuple(each for each in feature.archs if each.base in archs)


def require_archs(request: BuildRequest) -> None:
    """Refuse a request whose architectures cannot be told, before anything is fetched for it.

    Raises:
        UsageError: One is unknown, or none is named and there is no GPU to ask.
    """
    parse_archs(request.archs, load.known_archs())
    if not request.archs and not has_gpu(os.listdir("/dev")):  # noqa: PTH208 - names only
        raise UsageError(_NO_ARCH, hint=_NO_ARCH_HINT)


def asked_archs(request: BuildRequest, snapshot: Snapshot) -> tuple[Arch, ...]:
    """Return what is built for: what was asked for, else what the GPUs of this machine are.

    Raises:
        UsageError: An architecture does not exist, or nothing tells one.
    """
    if request.archs:
        return parse_archs(request.archs, load.known_archs())
    capabilities = [gpu.compute_capability for gpu in snapshot.gpus or ()]
    found = dict.fromkeys(Arch.parse(each) for each in capabilities if each)
    if not found:
        raise UsageError(_NO_ARCH, hint=_NO_ARCH_HINT)
    return tuple(found)


def _split(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Tell names of features from architectures, which ``inspect --require`` takes together.

    Raises:
        UsageError: An architecture does not exist.
    """
    parts = [part.strip() for text in texts for part in text.split(",")]
    archs = [part for part in parts if _is_arch(part)]
    parse_requirements(archs)
    return [part for part in parts if part not in archs], archs


def _is_arch(text: str) -> bool:
    try:
        Arch.parse(text)
    except ValueError:
        return False
    return True


def _features(
    names: Sequence[str], tree: Tree, archs: Sequence[Arch], narrowed: Narrowed | None
) -> tuple[Feature, ...]:
    asked = parse_features(names, tree.features)
    if tree.release is not None:
        require_features(tree.release, asked)
    for name in asked:
        _require_provable(tree, tree.features[name], archs, narrowed)
    if asked:
        return tuple(tree.features[name] for name in asked)
    usual = _by_default(tree, narrowed)
    features = [tree.features[name] for name in usual if name in tree.features]
    return tuple(
        feature
        for feature in features
        if feature.present and _has_kernels(feature) and code_archs(feature, archs)
    )


def _has_kernels(feature: Feature) -> bool:
    """Whether a feature can be proved: some of its kernels have names that are known."""
    return any(family.feature == feature.name and family.variants for family in families())


def _by_default(tree: Tree, narrowed: Narrowed | None) -> tuple[str, ...]:
    if narrowed is not None:
        return narrowed.features
    if tree.release is None:
        return tuple(tree.features)
    return load.project().default_features


def _require_provable(
    tree: Tree, feature: Feature, archs: Sequence[Arch], narrowed: Narrowed | None
) -> None:
    asked = ", ".join(arch.sm for arch in archs)
    places = f" ({'; '.join(str(place) for place in feature.places)})" if feature.places else ""
    if not _has_kernels(feature):
        msg = f"{feature.name} has no kernels in a binary that could prove it{places}"
        raise UsageError(msg)
    if not code_archs(feature, archs):
        exists = ", ".join(arch.sm for arch in feature.archs)
        msg = f"{feature.name} of {tree.name} is code for {exists}, not for {asked}{places}"
        raise UsageError(msg, hint=f"--arch {feature.archs[0].base.sm}, or leave it out")
    if narrowed is not None and feature.name not in narrowed.features:
        msg = f"{feature.name} is not part of what --only names"
        raise UsageError(msg, hint=f"--only {feature.name}")
