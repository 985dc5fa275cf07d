"""From the JSON of a knowledge file to the dataclasses of :mod:`dsv4_doctor.knowledge.model`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from dsv4_doctor.arch import Arch
from dsv4_doctor.knowledge.model import (
    ArchRange,
    Claim,
    CompilerFloor,
    DriverFloor,
    Extension,
    ExternalProject,
    Feature,
    Profile,
    Project,
    Release,
    ToolkitRelease,
)
from dsv4_doctor.knowledge.places import Cited, Place
from dsv4_doctor.knowledge.places import cited as _cited
from dsv4_doctor.knowledge.places import place as _place

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Json = Mapping[str, Any]


def release(data: Json) -> Release:
    """Return one vLLM release."""
    name: str = data["release"]

    def cited(key: str) -> Cited:
        return _cited(data[key], "vllm", name)

    return Release(
        name=name,
        sdist_sha256=data["sdist_sha256"],
        requires_python=cited("requires_python"),
        torch=cited("torch"),
        torch_cuda=cited("torch_cuda") if "torch_cuda" in data else None,
        triton=cited("triton") if "triton" in data else None,
        main_cuda=cited("main_cuda"),
        cmake=cited("cmake"),
        cxx_standard=cited("cxx_standard") if "cxx_standard" in data else None,
        gcc=tuple(_compiler_floor(each, name) for each in data["gcc"]),
        cuda_archs=tuple(_arch_range(each, name) for each in data["cuda_archs"]),
        features={
            feature: _feature(feature, each, name) for feature, each in data["features"].items()
        },
        extensions=tuple(_extension(each, name) for each in data["extensions"]),
        external_projects=tuple(
            _external_project(each, name) for each in data["external_projects"]
        ),
        not_established=tuple(data.get("not_established", ())),
    )


def profile(data: Json) -> Profile:
    """Return one profile; its claims are cited from the vLLM release that it is about."""
    return Profile(
        name=data["name"],
        title=data["title"],
        release=data["release"],
        claims=tuple(_claim(each, data["release"]) for each in data["claims"]),
        origin=_place(data["origin"], "dsv4-doctor", ""),
    )


def project(data: Json) -> Project:
    """Return what this project itself asks for."""
    return Project(
        cuda_minimum=_cited(data["cuda_minimum"], "dsv4-doctor", ""),
        assembled_cuda=_cited(data["assembled_cuda"], "dsv4-doctor", ""),
        default_features=tuple(data["default_features"]),
        feature_titles=dict(data["feature_titles"]),
    )


def toolkit(data: Json) -> ToolkitRelease:
    """Return one CUDA release."""
    name: str = data["name"]

    def place(key: str) -> Place | None:
        return _place(data[key], "cuda-toolkit", name) if key in data else None

    return ToolkitRelease(
        name=name,
        gcc_max=data.get("gcc_max"),
        driver_min=data.get("driver_min"),
        ptx=data.get("ptx"),
        place=_place(data["at"], "cuda-toolkit", name),
        driver_place=place("driver_at"),
        ptx_place=place("ptx_at"),
        archs=_archs(data.get("archs", ())),
        archs_place=place("archs_at"),
    )


def driver_floor(data: Json) -> DriverFloor:
    """Return the oldest driver of one CUDA major version."""
    return DriverFloor(data["cuda_major"], data["driver"], _place(data["at"], "nvidia-driver", ""))


def _archs(texts: Iterable[str]) -> tuple[Arch, ...]:
    return tuple(Arch.parse(text) for text in texts)


def _compiler_floor(data: Json, name: str) -> CompilerFloor:
    return CompilerFloor(Version(data["value"]), data["scope"], _place(data["at"], "vllm", name))


def _arch_range(data: Json, name: str) -> ArchRange:
    return ArchRange(
        SpecifierSet(data["nvcc"]), _archs(data["archs"]), _place(data["at"], "vllm", name)
    )


def _feature(feature: str, data: Json, name: str) -> Feature:
    return Feature(
        name=feature,
        present=data["present"],
        places=tuple(_place(each, "vllm", name) for each in data["at"]),
        archs=_archs(data.get("archs", ())),
        ptx=_archs(data.get("ptx", ())),
        nvcc=SpecifierSet(data.get("nvcc", "")),
        runtime_nvcc=SpecifierSet(data["runtime_nvcc"]) if "runtime_nvcc" in data else None,
        component=data.get("component", ""),
        file=data.get("file", ""),
        units=tuple(data.get("units", ())),
        optional=data.get("optional", False),
        compute_majors=tuple(data.get("compute_majors", ())),
        refused=_archs(data.get("refused", ())),
        needs=tuple(data.get("needs", ())),
        first=data.get("first", ""),
        last=data.get("last", ""),
        note=data.get("note", ""),
        unknown=tuple(data.get("unknown", ())),
    )


def _extension(data: Json, name: str) -> Extension:
    return Extension(
        name=data["name"],
        file=data.get("file", ""),
        optional=data.get("optional", False),
        nvcc=SpecifierSet(data.get("nvcc", "")),
        place=_place(data["at"], "vllm", name),
        python=SpecifierSet(data.get("python", "")),
    )


def _external_project(data: Json, name: str) -> ExternalProject:
    where = _place(data["at"], "vllm", name)
    return ExternalProject(
        name=data["name"],
        repository=data["repository"],
        revision=data["revision"],
        override=data.get("override", ""),
        cmake=where.file,
        components=tuple(data.get("components", ())),
        place=where,
    )


def _claim(data: Json, release_name: str) -> Claim:
    return Claim(
        subject=data["subject"],
        versions=tuple(data["versions"]),
        upstream=data.get("upstream", ""),
        verdict=data["verdict"],
        place=_place(data["at"], "vllm", release_name) if "at" in data else None,
    )
