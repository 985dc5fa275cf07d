"""Reads the knowledge files that lie beside this module.

Every file is JSON with a ``schema`` key; :mod:`dsv4_doctor.knowledge.parse` says how it is read.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from packaging.version import InvalidVersion, Version

from dsv4_doctor.arch import Arch
from dsv4_doctor.errors import UsageError
from dsv4_doctor.knowledge import parse
from dsv4_doctor.knowledge.packed import unpack
from dsv4_doctor.resources import files

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from importlib.abc import Traversable

    from dsv4_doctor.knowledge.history import Recorded
    from dsv4_doctor.knowledge.model import (
        DriverFloor,
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
        UsageError: The release is not known; the message names the nearest that are.
    """
    wanted = name.removeprefix("v")
    if wanted not in release_names():
        nearest = _nearest(name)
        known = f"; the nearest known: {', '.join(nearest)}" if nearest else ""
        msg = f"unknown vLLM release {name!r}{known}"
        raise UsageError(msg, hint=known_releases())
    return parse.release(unpack(_read("releases", f"{wanted}.json")))


def known_releases() -> str:
    """Say which releases are known, and what to do with another: a hint of an error."""
    names = release_names()
    return (
        f"`dsv4-doctor releases` lists the {len(names)} known ones, {names[-1]} to {names[0]};"
        " of any other give the source: an sdist or a checkout"
    )


def _nearest(name: str) -> list[str]:
    """The known releases before and after a version, newest first; none for what is no version."""
    try:
        wanted = Version(name)
    except InvalidVersion:
        return []
    newer = [each for each in release_names() if Version(each) >= wanted]
    older = [each for each in release_names() if Version(each) <= wanted]
    return list(dict.fromkeys([*newer[-1:], *older[:1]]))


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


def _table(name: str) -> dict[str, Recorded]:
    from dsv4_doctor.knowledge.history import recorded  # noqa: PLC0415 - a check needs none

    return recorded(_read(f"{name}.json"), name)


@cache
def flags() -> dict[str, Recorded]:
    """Return the flags of ``vllm serve`` by name, over all releases of :func:`flag_releases`."""
    return _table("flags")


@cache
def flag_releases() -> tuple[str, ...]:
    """Return the releases whose flags are known, oldest first."""
    return tuple(_read("flags.json")["releases"])


@cache
def variables() -> dict[str, Recorded]:
    """Return the environment variables that vLLM reads by name, over the same releases."""
    return _table("variables")


@cache
def compiled() -> dict[str, Recorded]:
    """Return the groups of kernels that vLLM compiles by name, over the same releases."""
    return _table("compiled")


@cache
def deepseek_v4() -> dict[str, Recorded]:
    """Return what vLLM has for DeepSeek-V4 by kind and name, over the same releases."""
    return _table("deepseek_v4")


@cache
def docker() -> dict[str, Recorded]:
    """Return the arguments of vLLM's own Dockerfile by name, over the same releases."""
    return _table("docker")


@cache
def packages() -> dict[str, Recorded]:
    """Return the packages that vLLM's build and its server ask for, over the same releases."""
    return _table("packages")


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
