"""The knowledge files themselves: well-formed, without misspelt keys, every value with a place."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from tests.doctor.knowledge.files import OTHERS, PROFILES, RELEASES, ROOT, TABLES, places, read

from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.model import (
    Claim,
    Extension,
    ExternalProject,
    Feature,
    Profile,
    Release,
    ToolkitRelease,
)
from dsv4_doctor.knowledge.places import place as place_of

SCHEMAS = {
    "releases": "dsv4-doctor/release/2",
    "profiles": "dsv4-doctor/profile/1",
    "cuda.json": "dsv4-doctor/cuda/1",
    "cuda_parts.json": "dsv4-doctor/cuda-parts/1",
    "gpus.json": "dsv4-doctor/gpus/1",
    "models.json": "dsv4-doctor/models/1",
    "cuda_errors.json": "dsv4-doctor/cuda-errors/1",
    "machine.json": "dsv4-doctor/machine/1",
    "gpu_archs.json": "dsv4-doctor/gpu-archs/1",
    "kernels.json": "dsv4-doctor/kernels/1",
    "launch.json": "dsv4-doctor/launch/1",
    "linkage.json": "dsv4-doctor/linkage/1",
    "project.json": "dsv4-doctor/project/1",
    "torch.json": "dsv4-doctor/torch/1",
    "features.json": "dsv4-doctor/features/1",
    "flags.json": "dsv4-doctor/flags/2",
    "variables.json": "dsv4-doctor/variables/1",
    "compiled.json": "dsv4-doctor/compiled/1",
    "deepseek_v4.json": "dsv4-doctor/deepseek_v4/1",
    "docker.json": "dsv4-doctor/docker/1",
    "packages.json": "dsv4-doctor/packages/1",
    "kernel_families.json": "dsv4-doctor/kernel-families/1",
    "stable_abi.json": "dsv4-doctor/stable-abi/1",
    "stack.json": "dsv4-doctor/stack/1",
}
SOURCE_FILE = re.compile(r"\.(txt|cmake|py|toml|cu|cuh|cpp|h|hpp)$")
COMMIT = re.compile(r"[0-9a-f]{40}")
RELEASE_TAG = re.compile(r"v\d+(\.\d+)+")


def name(path: Path) -> str:
    return path.stem


def keys(shape: type, **renamed: str) -> set[str]:
    return {renamed.get(field.name, field.name) for field in fields(shape)}


@pytest.mark.parametrize("path", [*RELEASES, *PROFILES, *OTHERS, *TABLES], ids=name)
def test_a_file_has_the_schema_of_its_kind(path: Path) -> None:
    kind = path.parent.name if path.parent.name in SCHEMAS else path.name
    assert read(path)["schema"] == SCHEMAS[kind]


@pytest.mark.parametrize("path", RELEASES, ids=name)
def test_a_release_file_has_no_key_that_nobody_reads(path: Path) -> None:
    data = read(path)
    assert set(data) - {"schema"} <= keys(Release, name="release")
    for each in data["features"].values():
        assert set(each) <= keys(Feature, places="at") - {"name"}
    for each in data["extensions"]:
        assert set(each) <= keys(Extension, place="at")
    for each in data["external_projects"]:
        assert set(each) <= keys(ExternalProject, place="at") - {"cmake"}


def test_the_rules_of_features_set_what_a_feature_has() -> None:
    known = {"recognised_by", "expected", "first", "last", "absent_notes", "rules"}
    features = read(ROOT / "features.json")["features"]
    assert set(features) == set(load.project().feature_titles)
    for each in features.values():
        assert set(each) <= known
        ways = each["recognised_by"]
        for way in ways if isinstance(ways, list) else [ways]:
            assert set(way) <= {"model", "extension", "arch_variable", "sources"}
        for rule in each["rules"]:
            assert set(rule) <= {"releases", "revisions", "stands_in", "set", "at"}
            assert set(rule.get("set", {})) <= keys(Feature, places="at")


@pytest.mark.parametrize("path", PROFILES, ids=name)
def test_a_profile_has_no_key_that_nobody_reads(path: Path) -> None:
    data = read(path)
    assert set(data) - {"schema"} <= keys(Profile)
    for each in data["claims"]:
        assert set(each) <= keys(Claim, place="at")


def test_the_toolkits_have_no_key_that_nobody_reads() -> None:
    known = keys(
        ToolkitRelease,
        place="at",
        driver_place="driver_at",
        ptx_place="ptx_at",
        archs_place="archs_at",
    )
    for each in read(ROOT / "cuda.json")["toolkits"]:
        assert set(each) <= known


@pytest.mark.parametrize("path", RELEASES, ids=name)
def test_the_file_is_named_as_the_release_in_it(path: Path) -> None:
    assert read(path)["release"] == path.stem


@pytest.mark.parametrize("path", [*RELEASES, *PROFILES, *OTHERS], ids=name)
def test_a_place_in_a_source_file_has_its_line(path: Path) -> None:
    data = read(path)
    found = list(places(data))
    assert found
    for trail, each in found:
        place = place_of(each, "vllm", data.get("release", ""))
        assert place.project, trail
        assert place.file, trail
        if SOURCE_FILE.search(place.file):
            assert place.line, f"{path.name}{trail}: {place} has no line"
        if isinstance(each, str):
            assert place.line, f"{path.name}{trail}: {each!r} is not FILE:LINE"


@pytest.mark.parametrize("path", RELEASES, ids=name)
def test_everything_that_a_release_says_has_a_place(path: Path) -> None:
    data = read(path)
    records: list[dict[str, Any]] = [
        *(each for each in data.values() if isinstance(each, dict) and "value" in each),
        *data["features"].values(),
        *(
            each
            for key in ("gcc", "cuda_archs", "extensions", "external_projects")
            for each in data[key]
        ),
    ]
    assert all(each.get("at") for each in records)


@pytest.mark.parametrize("path", RELEASES, ids=name)
def test_what_cmake_downloads_is_pinned_by_a_whole_commit_or_a_release_tag(path: Path) -> None:
    for each in read(path)["external_projects"]:
        assert COMMIT.fullmatch(each["revision"]) or RELEASE_TAG.fullmatch(each["revision"])
        assert each["repository"].startswith("https://")
        assert each["at"].rpartition(":")[0].endswith(("CMakeLists.txt", ".cmake"))


@pytest.mark.parametrize("path", RELEASES, ids=name)
def test_the_sdist_has_a_sha256(path: Path) -> None:
    assert re.fullmatch(r"[0-9a-f]{64}", read(path)["sdist_sha256"])
