"""From a vLLM source tree to the JSON of a release, in the schema of ``knowledge/releases/``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from packaging.version import InvalidVersion, Version

from dsv4_doctor.errors import InputError
from dsv4_doctor.knowledge.extract import (
    cmake_facts,
    external,
    python_values,
    requirements,
    setup_script,
)
from dsv4_doctor.knowledge.extract.extension_files import file_of
from dsv4_doctor.knowledge.extract.facts import Gaps, Json, at, cited
from dsv4_doctor.knowledge.extract.families import Material
from dsv4_doctor.knowledge.extract.nvcc import walk_all
from dsv4_doctor.knowledge.extract.overlay import features
from dsv4_doctor.knowledge.extract.tree import open_tree
from dsv4_doctor.resources import files

if TYPE_CHECKING:
    from pathlib import Path

    from dsv4_doctor.knowledge.extract.nvcc import Walks
    from dsv4_doctor.knowledge.extract.setup_script import DeclaredExtension
    from dsv4_doctor.knowledge.extract.tree import SourceTree

SCHEMA = "dsv4-doctor/release/2"
# Without these no check and no build can say anything.
REQUIRED = ("requires_python", "torch", "main_cuda", "cmake", "cuda_archs")


@dataclass(frozen=True)
class Extracted:
    """What was read from one tree.

    Attributes:
        data: In the schema of the knowledge files.
        not_established: What the tree does not say in a form that this program reads.
    """

    data: Json
    not_established: tuple[str, ...]


def extract(path: Path) -> Extracted:
    """Read what a vLLM release needs from its sdist or checkout.

    Raises:
        InputError: It is no readable vLLM tree, or says nothing of something that every use needs.
    """
    return extract_tree(open_tree(path))


def extract_tree(tree: SourceTree) -> Extracted:
    """Read what a vLLM release needs from its tree.

    Raises:
        InputError: As :func:`extract`.
    """
    path, gaps = tree.path, Gaps()
    try:
        data = _data(tree, gaps)
    except SyntaxError as error:
        msg = f"{path}: {error.filename}:{error.lineno} is no Python: {error.msg}"
        raise InputError(msg) from error
    except RecursionError as error:
        msg = f"{path}: holds Python that is nested too deeply to be read"
        raise InputError(msg) from error
    missing = [key for key in REQUIRED if not data.get(key)]
    if missing:
        msg = f"{path}: what vLLM {tree.version} needs cannot be read: {', '.join(missing)}"
        raise InputError(msg, hint="; ".join(gaps.found))
    if gaps.found:
        data["not_established"] = list(gaps.found)
    return Extracted(data, tuple(gaps.found))


def _data(tree: SourceTree, gaps: Gaps) -> Json:
    walks = walk_all(tree)
    for problem in walks.problems:
        gaps.add(problem)
    declared, unclear = setup_script.extensions(tree.text("setup.py") or "")
    for problem in unclear:
        gaps.add(problem)
    extensions = {each.name: _extension(each, walks, tree.version) for each in declared}
    projects = external.projects(walks, tuple(extensions), gaps)
    material = Material(
        tree,
        walks,
        extensions,
        {each.name: each.gate_line for each in declared if each.gate_line is not None},
        projects,
    )
    torch = requirements.torch(tree, gaps)
    found: dict[str, Any] = {
        "schema": SCHEMA,
        "release": tree.version,
        "sdist_sha256": tree.sha256,
        "requires_python": requirements.requires_python(tree, gaps),
        "torch": torch,
        **_of_torch(torch["value"] if torch is not None else "", gaps),
        "main_cuda": _main_cuda(tree, gaps),
        "cmake": _cmake(tree, walks),
        "cxx_standard": cmake_facts.cxx_standard(walks),
        "gcc": cmake_facts.gcc_floors(walks),
        "cuda_archs": cmake_facts.supported(walks, gaps),
        "features": features(_table("features")["features"], material, _public(tree), gaps),
        "extensions": list(extensions.values()),
        "external_projects": projects,
    }
    return {key: value for key, value in found.items() if value is not None}


def _extension(each: DeclaredExtension, walks: Walks, release: str) -> Json:
    events = walks.events[walks.ranges[-1]]
    found = {
        "name": each.name,
        "file": _known_file(each.name, release) or file_of(each, events),
        "optional": each.optional or "",
        "nvcc": each.nvcc,
        "python": each.python,
        "at": at("setup.py", each.line),
    }
    return {key: value for key, value in found.items() if value != ""}


def _known_file(extension: str, release: str) -> str:
    """The file that a release's wheel was seen to hold, where its CMake gives only a pattern."""
    for each in _table("features")["files"]:
        if each["extension"] == extension and release in each["releases"]:
            return str(each["file"])
    return ""


def _of_torch(torch: str, gaps: Gaps) -> Json:
    """What the wheel of the pinned torch says of itself: it does not stand in vLLM's tree."""
    for each in _table("torch")["torch"]:
        if each["torch"] == torch:
            return {
                key: {"value": each[source]["value"], "at": _torch_place(torch, each[source]["at"])}
                for key, source in (("torch_cuda", "cuda"), ("triton", "triton"))
            }
    gaps.add(f"torch_cuda, triton: nothing is known of torch {torch or 'without a pin'}")
    return {}


def _torch_place(torch: str, place: str) -> Json:
    file, _, line = place.partition(":")
    found: Json = {"project": "torch", "release": torch, "file": file}
    return found | ({"line": int(line)} if line else {})


def _main_cuda(tree: SourceTree, gaps: Gaps) -> Json | None:
    for file, name in (
        ("vllm/envs.py", "VLLM_MAIN_CUDA_VERSION"),
        ("setup.py", "MAIN_CUDA_VERSION"),
    ):
        value = python_values.assigned(tree.text(file) or "", name, file)
        if value is not None:
            return cited(value[0], file, value[1])
    gaps.add("main_cuda: neither vllm/envs.py nor setup.py gives it as a plain text")
    return None


def _cmake(tree: SourceTree, walks: Walks) -> Json | None:
    own, asked = cmake_facts.minimum(walks), requirements.cmake_floor(tree)
    if asked is not None and (own is None or Version(asked[0]) > Version(own[0])):
        return cited(asked[0], "pyproject.toml", asked[1])
    return cited(*own) if own is not None else None


def _public(tree: SourceTree) -> str:
    try:
        return Version(tree.version).public
    except InvalidVersion as error:
        msg = f"{tree.path}: vLLM says that its version is {tree.version!r}, which is none"
        raise InputError(msg) from error


def _table(name: str) -> Json:
    text = (files("dsv4_doctor.knowledge") / f"{name}.json").read_text(encoding="utf-8")
    content: Json = json.loads(text)
    return content
