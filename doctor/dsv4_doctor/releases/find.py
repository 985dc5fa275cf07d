"""Which release runs on what somebody has, and what is in the way of the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from dsv4_doctor.errors import UsageError
from dsv4_doctor.knowledge.model import accepts
from dsv4_doctor.releases import find_more
from dsv4_doctor.releases.obstacle import Obstacle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.arch import Arch
    from dsv4_doctor.knowledge.model import Feature, Release


@dataclass(frozen=True)
class Wanted:
    """What somebody has or wants; empty means that it does not matter.

    Attributes:
        cuda: Version of the toolkit, such as ``13.0``.
        torch: Version of torch, whole or its beginning, such as ``2.11``.
        flags: Flags of ``vllm serve``.
        kernels: Groups of kernels, such as ``cutlass-moe-grouped-sm90``.
    """

    features: tuple[str, ...] = ()
    archs: tuple[Arch, ...] = ()
    cuda: str = ""
    torch: str = ""
    flags: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fit:
    """How one release fits; without obstacles it does."""

    release: Release
    obstacles: tuple[Obstacle, ...]

    @property
    def good(self) -> bool:
        """Whether nothing is in the way."""
        return not self.obstacles


def version(text: str, option: str) -> str:
    """Check a version from a command line.

    Raises:
        UsageError: It is none; the message names the option.
    """
    try:
        Version(text)
    except InvalidVersion as error:
        msg = f"{option} {text!r} is no version, such as 13.0"
        raise UsageError(msg) from error
    return text


def fit(release: Release, wanted: Wanted) -> Fit:
    """Hold one release against what is wanted."""
    return Fit(release, tuple(_obstacles(release, wanted)))


def _obstacles(release: Release, wanted: Wanted) -> Iterator[Obstacle]:
    for name in wanted.features:
        feature = release.features.get(name)
        if feature is None or not feature.present:
            place = feature.places[0] if feature is not None and feature.places else None
            yield Obstacle(release.absence(name), place)
    yield from _torch(release, wanted.torch)
    nvcc = wanted.cuda or release.main_cuda.value
    yield from _archs(release, wanted, nvcc)
    for name in wanted.features:
        feature = release.features.get(name)
        if feature is not None and feature.present:
            yield from _feature(feature, wanted)
            yield from _needs(release, feature, wanted)
    for name in wanted.kernels:
        yield from find_more.of_kernels(release, name, wanted.archs, nvcc)
    for word in wanted.flags:
        yield from find_more.of_flag(release, word)


def _torch(release: Release, torch: str) -> Iterator[Obstacle]:
    if not torch:
        return
    asked = Version(torch).release
    if Version(release.torch.value).release[: len(asked)] != asked:
        yield Obstacle(f"it pins torch {release.torch.value}", release.torch.place)


def _archs(release: Release, wanted: Wanted, nvcc: str) -> Iterator[Obstacle]:
    supported = release.archs_for(nvcc)
    if supported is None:
        yield Obstacle(f"no architectures with nvcc {nvcc}", None)
        return
    for arch in wanted.archs:
        if not supported.covers(arch):
            yield Obstacle(f"no kernels for {arch.sm} with nvcc {nvcc}", supported.place)


def _feature(feature: Feature, wanted: Wanted) -> Iterator[Obstacle]:
    place = feature.places[0] if feature.places else None
    if wanted.cuda and not accepts(feature.nvcc, wanted.cuda):
        yield Obstacle(f"{feature.name} needs nvcc {feature.nvcc}", place)
    for arch in wanted.archs:
        if not feature.has_kernels_for(arch):
            yield Obstacle(f"{feature.name} does not run on {arch.sm}", place)
        elif not {"archs", "compute_majors"}.isdisjoint(feature.unknown):
            text = f"whether {feature.name} runs on {arch.sm} could not be read"
            yield Obstacle(text, place)


def _needs(release: Release, feature: Feature, wanted: Wanted) -> Iterator[Obstacle]:
    """What another feature that this one cannot run without asks of the compiler."""
    for name in feature.needs:
        needed = release.features.get(name)
        if needed is None or not wanted.cuda:
            continue
        # DeepSeek-V4 on 12.x takes another attention: what has no kernels there is not missed.
        if wanted.archs and not any(needed.has_kernels_for(arch) for arch in wanted.archs):
            continue
        place = needed.places[0] if needed.places else None
        text = f"{feature.name} needs {name}, which needs nvcc"
        if not accepts(needed.nvcc, wanted.cuda):
            yield Obstacle(f"{text} {needed.nvcc}", place)
        elif needed.runtime_nvcc and not accepts(needed.runtime_nvcc, wanted.cuda):
            yield Obstacle(f"{text} {needed.runtime_nvcc} on the server", place)
