"""Reads the knowledge files that lie beside this module.

Every file is JSON with a ``schema`` key. A place is written ``"FILE:LINE"`` for the release that
the file describes, or as an object with ``project``, ``release``, ``file`` and ``line`` when it
stands elsewhere.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from dsv4_doctor.arch import Arch
from dsv4_doctor.errors import UsageError
from dsv4_doctor.knowledge.model import (
    ArchRange,
    Cited,
    Claim,
    CompilerFloor,
    DriverFloor,
    Extension,
    ExternalProject,
    Feature,
    Place,
    Profile,
    Project,
    Release,
    ToolkitRelease,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable

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
    return _release(_read("releases", f"{wanted}.json"))


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
    data = _read("profiles", f"{name}.json")
    return Profile(
        name=data["name"],
        title=data["title"],
        release=data["release"],
        claims=tuple(_claim(each, data["release"]) for each in data["claims"]),
        origin=_place(data["origin"], "dsv4-doctor", ""),
    )


@cache
def project() -> Project:
    """Return what this project itself asks for."""
    data = _read("project.json")
    return Project(
        cuda_minimum=_cited(data["cuda_minimum"], "dsv4-doctor", ""),
        default_features=tuple(data["default_features"]),
        feature_titles=dict(data["feature_titles"]),
    )


@cache
def toolkit_releases() -> tuple[ToolkitRelease, ...]:
    """Return the known CUDA releases, oldest first."""
    return tuple(
        ToolkitRelease(
            name=each["name"],
            gcc_max=each.get("gcc_max"),
            driver_min=each.get("driver_min"),
            ptx=each.get("ptx"),
            place=_place(each["at"], "cuda-toolkit", each["name"]),
        )
        for each in _read("cuda.json")["toolkits"]
    )


@cache
def driver_floors() -> tuple[DriverFloor, ...]:
    """Return the oldest driver for each CUDA major version."""
    return tuple(
        DriverFloor(each["cuda_major"], each["driver"], _place(each["at"], "nvidia-driver", ""))
        for each in _read("cuda.json")["driver_floors"]
    )


@cache
def known_archs() -> tuple[Arch, ...]:
    """Return every GPU architecture that exists, without suffixes, in order."""
    return tuple(Arch.parse(each["arch"]) for each in _read("gpu_archs.json")["archs"])


@cache
def default_release() -> Release:
    """Return the newest known release that has all default features together."""
    wanted = project().default_features
    for name in release_names():
        candidate = release(name)
        if all(candidate.has(feature) for feature in wanted):
            return candidate
    msg = f"no known vLLM release has {', '.join(wanted)} together"
    raise UsageError(msg)


def _place(data: str | Json, project_name: str, release_name: str) -> Place:
    if isinstance(data, str):
        file, _, line = data.rpartition(":")
        if file and line.isdigit():
            return Place(project_name, release_name, file, int(line))
        return Place(project_name, release_name, data)
    return Place(data["project"], data.get("release", ""), data["file"], data.get("line"))


def _cited(data: Json, project_name: str, release_name: str) -> Cited:
    return Cited(data["value"], _place(data["at"], project_name, release_name))


def _release(data: Json) -> Release:
    name: str = data["release"]

    def cited(key: str) -> Cited:
        return _cited(data[key], "vllm", name)

    return Release(
        name=name,
        sdist_sha256=data["sdist_sha256"],
        requires_python=cited("requires_python"),
        torch=cited("torch"),
        torch_cuda=cited("torch_cuda"),
        triton=cited("triton"),
        main_cuda=cited("main_cuda"),
        cmake=cited("cmake"),
        cxx_standard=cited("cxx_standard") if data.get("cxx_standard") else None,
        gcc=tuple(_compiler_floor(each, name) for each in data["gcc"]),
        cuda_archs=tuple(_arch_range(each, name) for each in data["cuda_archs"]),
        features={
            feature: _feature(feature, each, name) for feature, each in data["features"].items()
        },
        extensions=tuple(_extension(each, name) for each in data["extensions"]),
        external_projects=tuple(
            _external_project(each, name) for each in data["external_projects"]
        ),
    )


def _compiler_floor(data: Json, name: str) -> CompilerFloor:
    return CompilerFloor(Version(data["value"]), data["scope"], _place(data["at"], "vllm", name))


def _arch_range(data: Json, name: str) -> ArchRange:
    return ArchRange(
        SpecifierSet(data["nvcc"]),
        tuple(Arch.parse(each) for each in data["archs"]),
        _place(data["at"], "vllm", name),
    )


def _feature(feature: str, data: Json, name: str) -> Feature:
    return Feature(
        name=feature,
        present=data["present"],
        places=tuple(_place(each, "vllm", name) for each in data["at"]),
        archs=tuple(Arch.parse(each) for each in data.get("archs", ())),
        nvcc=SpecifierSet(data.get("nvcc", "")),
        component=data.get("component", ""),
        file=data.get("file", ""),
        units=tuple(data.get("units", ())),
        optional=data.get("optional", False),
        compute_majors=tuple(data.get("compute_majors", ())),
        first=data.get("first", ""),
        last=data.get("last", ""),
        note=data.get("note", ""),
    )


def _extension(data: Json, name: str) -> Extension:
    return Extension(
        name=data["name"],
        file=data.get("file", ""),
        optional=data["optional"],
        nvcc=SpecifierSet(data.get("nvcc", "")),
        place=_place(data["at"], "vllm", name),
    )


def _external_project(data: Json, name: str) -> ExternalProject:
    return ExternalProject(
        name=data["name"],
        repository=data["repository"],
        revision=data["revision"],
        override=data.get("override", ""),
        cmake=data["cmake"],
        components=tuple(data.get("components", ())),
        place=_place(data["at"], "vllm", name),
    )


def _claim(data: Json, release_name: str) -> Claim:
    return Claim(
        subject=data["subject"],
        versions=tuple(data["versions"]),
        upstream=data.get("upstream", ""),
        verdict=data["verdict"],
        place=_place(data["at"], "vllm", release_name) if "at" in data else None,
    )
