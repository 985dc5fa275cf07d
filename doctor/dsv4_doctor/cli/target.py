"""Turning command-line options into a target, with a line that says what was chosen and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.named import named
from dsv4_doctor.lazy_dataclass import dataclass
from dsv4_doctor.target import Target, parse_archs, parse_features, require_features

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsv4_doctor.knowledge.model import Release
    from dsv4_doctor.target import Purpose


@dataclass(frozen=True)
class Resolved:
    """A target with the release's requirements.

    Attributes:
        notes: What a reader should know of how the target came about.
    """

    target: Target
    release: Release
    notes: tuple[str, ...]


def resolve(
    *,
    purpose: Purpose,
    vllm: str | None = None,
    archs: Sequence[str] = (),
    features: Sequence[str] = (),
    profile: str | None = None,
) -> Resolved:
    """Resolve the options of a command.

    Raises:
        UsageError: An unknown release, architecture, feature or profile, or a feature that the
            release does not have.
        InputError: A source tree that cannot be read.
    """
    release, notes = _release(vllm, profile)
    known = tuple(release.features)
    asked = parse_features(features, known)
    require_features(release, asked)
    wanted = load.project().default_features
    chosen = asked or tuple(name for name in wanted if release.has(name))
    notes += tuple(_missing(release, name) for name in wanted if name not in chosen and not asked)
    target = Target(
        release=release.name,
        archs=tuple(arch.sm for arch in parse_archs(archs, load.known_archs())),
        features=chosen,
        purpose=purpose,
        profile=profile or "",
        features_asked=bool(asked),
    )
    return Resolved(target, release, notes)


def _release(vllm: str | None, profile: str | None) -> tuple[Release, tuple[str, ...]]:
    if vllm is not None:
        return named(vllm)
    if profile is not None:
        chosen = load.profile(profile)
        return load.release(chosen.release), (
            f"vLLM {chosen.release} is the release of {chosen.title}",
        )
    release = load.default_release()
    newest = load.release_names()[0]
    features = ", ".join(load.project().default_features)
    note = f"vLLM {release.name} is the newest known release with {features} together"
    if newest != release.name:
        note += f"; --vllm {newest} chooses the newest"
    return release, (note,)


def _missing(release: Release, name: str) -> str:
    feature = release.features.get(name)
    note = f"vLLM {release.name} has {release.absence(name)}"
    places = "; ".join(str(place) for place in feature.places) if feature is not None else ""
    return f"{note} ({places})" if places else note
