"""What is known of the software around vLLM: compiling at run time, wheels, reported faults."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from packaging.specifiers import SpecifierSet

from dsv4_doctor.knowledge.model import ANY_VERSION, accepts
from dsv4_doctor.knowledge.places import Place
from dsv4_doctor.lazy_dataclass import dataclass, field
from dsv4_doctor.resources import files

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dsv4_doctor.citation import Source


@dataclass(frozen=True)
class Known:
    """One thing that holds under conditions; an empty condition holds always.

    Attributes:
        what: The thing: a requirement, a tag, or what was reported.
        place: Where it stands.
        releases: Of vLLM.
        package: Distribution that must be installed.
        versions: Versions of that distribution.
        majors: Majors of compute capability.
        archs: Compute capabilities, such as ``12.0``.
        nvcc: Versions of nvcc that it holds for; of a requirement, those that it asks for; of a
            clash, those whose toolkit has none.
        features: Features that are wanted, all of them.
        gpu: Regular expression for the name of a GPU.
        names: What else belongs to it: functions, requirements; of a rule, its name.
        do: What to do, in words.
        env: What to set in the environment.
    """

    what: str
    place: Place
    releases: SpecifierSet = ANY_VERSION
    package: str = ""
    versions: SpecifierSet = ANY_VERSION
    majors: tuple[int, ...] = ()
    archs: tuple[str, ...] = ()
    nvcc: SpecifierSet = ANY_VERSION
    features: tuple[str, ...] = ()
    gpu: str = ""
    names: tuple[str, ...] = ()
    do: str = ""
    env: Mapping[str, str] = field(default_factory=dict)

    def is_for(self, release: str, features: Iterable[str] = ()) -> bool:
        """Whether it is about this release of vLLM, with these features wanted."""
        return accepts(self.releases, release) and set(self.features) <= set(features)

    @property
    def source(self) -> Source:
        """The place as the source of what it says."""
        return self.place.source(self.what)

    def is_for_gpu(self, name: str) -> bool:
        """Whether it is about a GPU of this name."""
        return re.search(self.gpu, name) is not None


def jit_minimums() -> tuple[Known, ...]:
    """Return which nvcc each consumer that compiles in a running server asks for, by GPU."""
    return _known("jit")


def math_functions() -> tuple[Known, ...]:
    """Return math functions, with the version of glibc that first declares them."""
    return _known("glibc_math")


def build_requirements(release: str) -> Known | None:
    """Return what a build of this release asks of its Python environment, besides torch."""
    return next((each for each in _known("build_requires") if each.is_for(release)), None)


def wheel_glibc(release: str) -> Known | None:
    """Return the oldest glibc that the tag of a release's x86_64 wheel admits."""
    return next((each for each in _known("wheels") if each.is_for(release)), None)


def fa3_gpus(release: str) -> Known | None:
    """Return the compute capabilities that FlashAttention 3 of a release takes."""
    return next((each for each in _known("fa3") if each.is_for(release)), None)


def torch_compilers() -> tuple[Known, ...]:
    """Return the oldest gcc that the headers of a torch accept."""
    return _known("torch_gcc")


@cache
def rule(name: str) -> Known:
    """Return a rule of a program around vLLM, such as where FlashInfer looks for nvcc.

    Raises:
        KeyError: There is none of this name.
    """
    found = {each.names[0]: each for each in _known("rules")}
    return found[name]


def reports() -> tuple[Known, ...]:
    """Return faults of versions and GPUs that people reported."""
    return _known("reports")


@cache
def _known(section: str) -> tuple[Known, ...]:
    return tuple(parse(each) for each in _file()[section])


def parse(data: Mapping[str, Any]) -> Known:
    """Read one entry."""
    at = data["at"]
    return Known(
        what=data.get("what", ""),
        place=Place(at["project"], at.get("release", ""), at["file"], at.get("line")),
        releases=_versions(data, "releases"),
        package=data.get("package", ""),
        versions=_versions(data, "versions"),
        majors=tuple(data.get("majors", ())),
        archs=tuple(data.get("archs", ())),
        nvcc=_versions(data, "nvcc"),
        features=tuple(data.get("features", ())),
        gpu=data.get("gpu", ""),
        names=tuple(data.get("names", ())),
        do=data.get("do", ""),
        env=dict(data.get("env", {})),
    )


def _versions(data: Mapping[str, Any], key: str) -> SpecifierSet:
    return SpecifierSet(data[key]) if key in data else ANY_VERSION


@cache
def _file() -> Mapping[str, Any]:
    text = files(__package__).joinpath("stack.json").read_text(encoding="utf-8")
    content: Mapping[str, Any] = json.loads(text)
    return content
