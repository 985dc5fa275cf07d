"""What ``--only`` names: kernels, components and features, resolved before anything is built."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dsv4_doctor.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dsv4_doctor.knowledge.model import ExternalProject, Feature

_SOURCE_SUFFIXES = (".cu", ".cpp", ".cc", ".cxx", ".c")


@dataclass(frozen=True)
class UnitWish:
    """One source file that was asked for.

    Attributes:
        path: Its name, or the last parts of its path.
        component: The extension module whose unit it is; empty for any.
    """

    path: str
    component: str = ""

    def matches(self, component: str, source: str) -> bool:
        """Whether a unit of the build is meant."""
        if self.component and component != self.component:
            return False
        return source == self.path or source.endswith(f"/{self.path}")

    def __str__(self) -> str:
        return f"{self.component}:{self.path}" if self.component else self.path


@dataclass(frozen=True)
class Narrowed:
    """A build of parts of a tree.

    Attributes:
        units: Source files to compile.
        components: Extension modules to build whole.
        features: Features that all this is part of, which can then be proved.
        tested: Whether what it takes to run them is compiled, too.
    """

    units: tuple[UnitWish, ...]
    components: tuple[str, ...]
    features: tuple[str, ...]
    tested: bool = False

    @property
    def touched(self) -> frozenset[str]:
        """Every component that is named, also for one of its units."""
        return frozenset(self.components) | {unit.component for unit in self.units}


def resolve(
    names: Sequence[str], features: Mapping[str, Feature], components: Sequence[str]
) -> Narrowed:
    """Resolve what ``--only`` names.

    A name is a feature, a component, a source file or the end of its path, or
    ``COMPONENT:SOURCE``.

    Args:
        features: What the tree has.
        components: Extension modules that the tree declares.

    Raises:
        UsageError: A name is none of these; the message lists what exists.
    """
    units: list[UnitWish] = []
    whole: list[str] = []
    for name in names:
        component, colon, path = name.partition(":")
        feature = features.get(name)
        if feature is not None:
            _add_feature(feature, units, whole)
        elif name in components:
            whole.append(name)
        elif colon and component in components and path:
            units.append(UnitWish(path, component))
        elif not colon and name.endswith(_SOURCE_SUFFIXES):
            units.append(UnitWish(name))
        else:
            raise _unknown(name, features, components)
    wishes, wanted = tuple(dict.fromkeys(units)), tuple(dict.fromkeys(whole))
    return Narrowed(wishes, wanted, _covered(features, wishes, frozenset(wanted)))


def _add_feature(feature: Feature, units: list[UnitWish], whole: list[str]) -> None:
    if not feature.present or not feature.component:
        msg = f"--only {feature.name}: nothing is compiled for it"
        raise UsageError(msg, hint=feature.note)
    if feature.units:
        units.extend(UnitWish(unit) for unit in feature.units)
    else:
        whole.append(feature.component)


def _covered(
    features: Mapping[str, Feature], wishes: Sequence[UnitWish], whole: frozenset[str]
) -> tuple[str, ...]:
    """Return the features that can be proved from what is built."""
    shared = Counter(each.component for each in features.values() if each.present)
    return tuple(
        name
        for name, feature in features.items()
        if feature.present
        and feature.component
        and (
            feature.component in whole
            or _has_unit(feature, wishes)
            # Any unit of a component that serves this feature alone is one of its kernels.
            or (
                shared[feature.component] == 1
                and any(wish.component == feature.component for wish in wishes)
            )
        )
    )


def _has_unit(feature: Feature, wishes: Sequence[UnitWish]) -> bool:
    return any(
        wish.matches(wish.component and feature.component, unit)
        for wish in wishes
        for unit in feature.units
    )


def _unknown(name: str, features: Mapping[str, Feature], components: Sequence[str]) -> UsageError:
    known = ", ".join(each for each, feature in features.items() if feature.component)
    msg = (
        f"--only {name}: no feature ({known}), no component ({', '.join(components)}) "
        f"and no source file ({', '.join(_SOURCE_SUFFIXES)})"
    )
    return UsageError(msg)


def left_out(
    narrowed: Narrowed, projects: Sequence[ExternalProject]
) -> tuple[ExternalProject, ...]:
    """Return the external projects that what was asked for does not need.

    One without components is part of the main extensions and always needed.
    """
    return tuple(
        project
        for project in projects
        if project.components and narrowed.touched.isdisjoint(project.components)
    )
