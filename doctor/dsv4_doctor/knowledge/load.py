"""Reads the knowledge files that lie beside this module.

Every file is JSON with a ``schema`` key; :mod:`dsv4_doctor.knowledge.parse` says how it is read.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from packaging.version import Version

from dsv4_doctor.arch import Arch
from dsv4_doctor.errors import UsageError
from dsv4_doctor.knowledge import parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from importlib.abc import Traversable

    from dsv4_doctor.knowledge.model import (
        DriverFloor,
        Flag,
        Profile,
        Project,
        Release,
        ToolkitRelease,
    )

    Json = Mapping[str, Any]


def _directory(*parts: str) -> Traversable:
    place: Traversable = files(__package__)
    for part in parts:
        place = place / part
    return place


def _read(*parts: str) -> Json:
    content: Json = json.loads(_directory(*parts).read_text(encoding="utf-8"))
    return content


def _names(*parts: str) -> list[str]:
    return [
        entry.name.removesuffix(".json")
        for entry in _directory(*parts).iterdir()
        if entry.name.endswith(".json")
    ]


@cache
def release_names() -> tuple[str, ...]:
    """Return the names of all known releases, newest first."""
    return tuple(sorted(_names("releases"), key=Version, reverse=True))


@cache
def release(name: str) -> Release:
    """Return what is known of one release.

    Raises:
        UsageError: The release is not known; the message lists those that are.
    """
    wanted = name.removeprefix("v")
    if wanted not in release_names():
        msg = f"unknown vLLM release {name!r}; known: {', '.join(release_names())}"
        raise UsageError(msg)
    return parse.release(_read("releases", f"{wanted}.json"))


@cache
def profile_names() -> tuple[str, ...]:
    """Return the names of all profiles."""
    return tuple(sorted(_names("profiles")))


@cache
def profile(name: str) -> Profile:
    """Return one profile.

    Raises:
        UsageError: There is none of this name; the message lists those that exist.
    """
    if name not in profile_names():
        msg = f"unknown profile {name!r}; known: {', '.join(profile_names())}"
        raise UsageError(msg)
    return parse.profile(_read("profiles", f"{name}.json"))


@cache
def project() -> Project:
    """Return what this project itself asks for."""
    return parse.project(_read("project.json"))


@cache
def toolkit_releases() -> tuple[ToolkitRelease, ...]:
    """Return the known CUDA releases, oldest first."""
    return tuple(parse.toolkit(each) for each in _read("cuda.json")["toolkits"])


@cache
def driver_floors() -> tuple[DriverFloor, ...]:
    """Return the oldest driver for each CUDA major version."""
    return tuple(parse.driver_floor(each) for each in _read("cuda.json")["driver_floors"])


@cache
def flags() -> dict[str, Flag]:
    """Return the flags of ``vllm serve`` by name, over all releases of :func:`flag_releases`."""
    return {name: parse.flag(name, each) for name, each in _read("flags.json")["flags"].items()}


@cache
def flag_releases() -> tuple[str, ...]:
    """Return the releases whose flags are known, oldest first."""
    return tuple(_read("flags.json")["releases"])


@cache
def known_archs() -> tuple[Arch, ...]:
    """Return every GPU architecture that exists, without suffixes, in order."""
    return tuple(Arch.parse(each["arch"]) for each in _read("gpu_archs.json")["archs"])


@cache
def default_release() -> Release:
    """Return the newest known release that has all default features together."""
    wanted = project().default_features
    return newest_with(
        wanted, (release(name) for name in release_names() if _may_have(name, wanted))
    )


def _may_have(name: str, features: Sequence[str]) -> bool:
    """Whether a release has the features, from its JSON alone: reading it whole takes long."""
    known: Json = _read("releases", f"{name}.json")["features"]
    return all(known.get(feature, {}).get("present") for feature in features)


@cache
def torch_pins() -> dict[str, str]:
    """Return the torch that each known release pins, newest release first.

    From the JSON alone: reading the releases whole takes long.
    """
    return {name: _read("releases", f"{name}.json")["torch"]["value"] for name in release_names()}


def newest_with(features: Sequence[str], releases: Iterable[Release]) -> Release:
    """Return the first release that has all features.

    Args:
        features: Names of features.
        releases: Newest first; they are taken one by one, so that no file is read in vain.

    Raises:
        UsageError: None of them has all.
    """
    for candidate in releases:
        if all(candidate.has(feature) for feature in features):
            return candidate
    msg = f"no known vLLM release has {', '.join(features)} together"
    raise UsageError(msg)
