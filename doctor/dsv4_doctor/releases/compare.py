"""What changed between two releases for someone who builds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dsv4_doctor.knowledge import load

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dsv4_doctor.knowledge.model import Cited, Feature, Place, Release


@dataclass(frozen=True)
class Entry:
    """One thing that a release says, as text that can be compared.

    Attributes:
        value: What a person would read.
        place: Where it stands, ``None`` when it stands nowhere.
    """

    value: str
    place: Place | None


@dataclass(frozen=True)
class Change:
    """One difference; ``before`` or ``after`` is ``None`` for what came or went.

    Attributes:
        topic: Such as ``external project``.
        name: What within the topic.
    """

    topic: str
    name: str
    before: Entry | None
    after: Entry | None

    @property
    def kind(self) -> str:
        """``added``, ``removed`` or ``changed``."""
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"


def changes(old: Release, new: Release) -> tuple[Change, ...]:
    """Return what differs, topic by topic."""
    before, after = dict(entries(old)), dict(entries(new))
    if {old.name, new.name} <= set(load.flag_releases()):
        before["flag of vllm serve"], after["flag of vllm serve"] = _flags(old), _flags(new)
    return tuple(
        Change(topic, name, before[topic].get(name), after[topic].get(name))
        for topic in before
        for name in dict.fromkeys([*before[topic], *after[topic]])
        if _value(before[topic].get(name)) != _value(after[topic].get(name))
    )


def _value(entry: Entry | None) -> str | None:
    return entry.value if entry is not None else None


def entries(release: Release) -> Iterator[tuple[str, Mapping[str, Entry]]]:
    """Give everything that a release says, topic by topic and name by name."""
    yield "requirement", dict(_requirements(release))
    yield (
        "architectures",
        {
            f"nvcc {each.nvcc}" if str(each.nvcc) else "any nvcc": Entry(
                " ".join(arch.dotted for arch in each.archs), each.place
            )
            for each in release.cuda_archs
        },
    )
    yield (
        "feature",
        {
            name: Entry(_feature(each), each.places[0] if each.places else None)
            for name, each in release.features.items()
            if each.present
        },
    )
    yield (
        "extension",
        {
            each.name: Entry(
                ", ".join(
                    [
                        each.file or "Python files",
                        *(["optional"] if each.optional else []),
                        *([f"nvcc {each.nvcc}"] if str(each.nvcc) else []),
                        *([f"Python {each.python}"] if str(each.python) else []),
                    ]
                ),
                each.place,
            )
            for each in release.extensions
        },
    )
    yield (
        "external project",
        {
            each.name: Entry(
                f"{each.repository} {each.revision}"
                + (f", override {each.override}" if each.override else ""),
                each.place,
            )
            for each in release.external_projects
        },
    )
    yield "package", {name: _cited(each) for name, each in release.pins.items()}
    yield (
        "variable of setup.py",
        {name: Entry("read", place) for name, place in release.setup_environment.items()},
    )
    yield (
        "argument of its Dockerfile",
        {name: _cited(each) for name, each in release.docker.items()},
    )


def _flags(release: Release) -> dict[str, Entry]:
    """The flags of a release; the line is known for the newest release that has one."""
    return {
        name: Entry("", each.place if each.place.release == release.name else None)
        for name, each in load.flags().items()
        if each.within(release.name)
    }


def _requirements(release: Release) -> Iterator[tuple[str, Entry]]:
    for name, each in (
        ("Python", release.requires_python),
        ("torch", release.torch),
        ("CUDA of torch's wheel", release.torch_cuda),
        ("triton, through torch", release.triton),
        ("CUDA of the wheel", release.main_cuda),
        ("CMake", release.cmake),
        ("C++ standard", release.cxx_standard),
    ):
        if each is not None:
            yield name, _cited(each)
    for floor in release.gcc:
        name = "gcc" if floor.scope == "all" else "gcc for CUDA"
        yield name, Entry(f">={floor.minimum}", floor.place)


def _cited(each: Cited) -> Entry:
    return Entry(each.value or "any", each.place)


def _feature(feature: Feature) -> str:
    parts = [
        " ".join(arch.dotted for arch in feature.archs),
        f"PTX {' '.join(arch.dotted for arch in feature.ptx)}" if feature.ptx else "",
        f"nvcc {feature.nvcc}" if str(feature.nvcc) else "",
        f"in {feature.component}" if feature.component else "",
        f"compute capability {', '.join(f'{major}.x' for major in feature.compute_majors)}"
        if feature.compute_majors
        else "",
        f"not on {', '.join(arch.dotted for arch in feature.refused)}" if feature.refused else "",
        f"nvcc {feature.runtime_nvcc or 'of a version not known'} on the server"
        if feature.runtime_nvcc is not None
        else "",
    ]
    return ", ".join(part for part in parts if part) or "present"
