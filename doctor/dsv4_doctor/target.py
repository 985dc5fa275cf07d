"""What the user wants, resolved against what is known: release, architectures, features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from dsv4_doctor.arch import Arch
from dsv4_doctor.errors import UsageError
from dsv4_doctor.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dsv4_doctor.knowledge.model import Release

Purpose: TypeAlias = Literal["build", "serve", "all"]
PURPOSES: tuple[Purpose, ...] = get_args(Purpose)


@dataclass(frozen=True)
class Target:
    """What a report is about.

    Attributes:
        release: vLLM release.
        archs: Architectures asked for, as ``sm_90``; empty for those of the GPUs found.
        features: Features that must be there, such as ``fa3``.
        features_asked: Whether somebody named them; the default ones give way to a GPU that
            they are not for.
        purpose: ``build``, ``serve``, or ``all`` for both.
        profile: A recommended matrix to hold the machine against, empty for none.
    """

    release: str
    archs: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    purpose: Purpose = "all"
    profile: str = ""
    features_asked: bool = True

    @property
    def builds(self) -> bool:
        """Whether compiling from source is part of the purpose."""
        return self.purpose in {"build", "all"}

    @property
    def serves(self) -> bool:
        """Whether running a server is part of the purpose."""
        return self.purpose in {"serve", "all"}

    @property
    def parsed_archs(self) -> tuple[Arch, ...]:
        """The architectures as values."""
        return tuple(Arch.parse(arch) for arch in self.archs)


def parse_archs(texts: Sequence[str], known: Iterable[Arch]) -> tuple[Arch, ...]:
    """Read architectures as given on the command line, comma-separated or repeated.

    Args:
        texts: What the user wrote.
        known: Architectures that exist, without suffixes.

    Raises:
        UsageError: One of them does not exist; the message lists those that do.
    """
    exist = sorted(set(known))
    archs: list[Arch] = []
    for text in _split(texts):
        try:
            arch = Arch.parse(text)
        except ValueError:
            arch = None
        if arch is None or arch.base not in exist:
            names = ", ".join(each.sm for each in exist)
            msg = f"unknown architecture {text!r}; known: {names}"
            raise UsageError(msg)
        if arch not in archs:
            archs.append(arch)
    return tuple(archs)


def parse_features(texts: Sequence[str], known: Iterable[str]) -> tuple[str, ...]:
    """Read feature names as given on the command line.

    Raises:
        UsageError: One of them does not exist; the message lists those that do.
    """
    exist = sorted(known)
    features = tuple(dict.fromkeys(_split(texts)))
    for feature in features:
        if feature not in exist:
            msg = f"unknown feature {feature!r}; known: {', '.join(exist)}"
            raise UsageError(msg)
    return features


def require_features(release: Release, features: Iterable[str]) -> None:
    """Refuse a release that lacks one of the features, before anything is compiled.

    Raises:
        UsageError: With the releases that have the feature and the line where it stood.
    """
    for name in features:
        feature = release.features.get(name)
        if feature is not None and feature.present:
            continue
        msg = f"vLLM {release.name} has {release.absence(name)}"
        if feature is None:
            raise UsageError(msg)
        if feature.places:
            msg += f" ({'; '.join(str(place) for place in feature.places)})"
        raise UsageError(msg, hint=feature.note)


def _split(texts: Sequence[str]) -> list[str]:
    return [part.strip() for text in texts for part in text.split(",") if part.strip()]
