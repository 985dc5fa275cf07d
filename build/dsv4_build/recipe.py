"""Recipes: what the build knows of a source tree before it opens it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from packaging.specifiers import SpecifierSet

from dsv4_doctor.arch import Arch
from dsv4_doctor.errors import UsageError
from dsv4_doctor.knowledge.model import Feature
from dsv4_doctor.knowledge.places import Place

if TYPE_CHECKING:
    from dsv4_build.toolchain.pins import Group

_SCHEMA_KEY = "schema"

# A build needs real files, so that the package is always installed as such.
_DIRECTORY = Path(__file__).with_name("recipes")


@dataclass(frozen=True)
class Recipe:
    """How one kind of source tree is built.

    Attributes:
        group: Parts of a CUDA toolkit that it needs.
        nvcc: Versions of nvcc that it needs; a vLLM release adds its own.
        cmake: Oldest CMake, empty when the vLLM release tells.
        job_memory: Bytes of memory to plan for each compiler that runs.
        job_memory_note: Where that number comes from.
        checks: Prefixes of the ids of findings that can stop this build.
        variables: Environment variables of its own.
        version: Its version; empty when the tree tells.
        version_variables: Through which it is told the version of the wheel.
        configure: Arguments for CMake when it is run without ``setup.py``; may name
            ``{python}``, ``{python_path}`` and ``{deps}``.
        features: What it can prove, by name; empty when the vLLM release tells.
    """

    name: str
    title: str
    group: Group
    nvcc: SpecifierSet
    cmake: str
    job_memory: int
    job_memory_note: str
    checks: tuple[str, ...]
    build_type: str
    variables: dict[str, str]
    version: str
    version_variables: tuple[str, ...]
    configure: tuple[str, ...]
    features: dict[str, Feature]

    def stops(self, finding_id: str) -> bool:
        """Whether a failing finding of this id stops the build."""
        return finding_id.startswith(self.checks)


def embedded() -> tuple[str, ...]:
    """Return the names of the recipes that bring their own source tree."""
    return tuple(sorted(name for name in _data() if tree(name).is_dir()))


def tree(name: str) -> Path:
    """Return the embedded source tree of a recipe; it may not exist."""
    return _DIRECTORY / name


def embedded_recipe(name: str) -> Recipe:
    """Return a recipe that brings its own tree.

    Raises:
        UsageError: There is none of this name; the message lists those that exist.
    """
    if name not in embedded():
        msg = f"unknown recipe {name!r}; known: {', '.join(embedded())}"
        raise UsageError(msg)
    return recipe(name)


@cache
def recipe(name: str) -> Recipe:
    """Return a recipe by its name in the data file."""
    data = _data()[name]
    return Recipe(
        name=name,
        title=data["title"],
        group=data["group"],
        nvcc=SpecifierSet(data["nvcc"]),
        cmake=data["cmake"],
        job_memory=data["job_memory"],
        job_memory_note=data["job_memory_note"],
        checks=tuple(data["checks"]),
        build_type=data["build_type"],
        variables=dict(data["variables"]),
        version=data["version"],
        version_variables=tuple(data["version_variables"]),
        configure=tuple(data["configure"]),
        features={key: _feature(key, each) for key, each in data["features"].items()},
    )


def _feature(name: str, data: dict[str, Any]) -> Feature:
    return Feature(
        name=name,
        present=True,
        places=(Place("dsv4-doctor", "", data["at"]),),
        archs=tuple(Arch.parse(each) for each in data["archs"]),
        component=data["component"],
        file=data["file"],
        units=tuple(data["units"]),
    )


@cache
def _data() -> dict[str, dict[str, Any]]:
    text = (_DIRECTORY / "recipes.json").read_text(encoding="utf-8")
    content = cast("dict[str, Any]", json.loads(text))
    return {name: each for name, each in content.items() if name != _SCHEMA_KEY}
