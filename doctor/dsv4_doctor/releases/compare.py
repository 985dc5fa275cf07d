"""What changed between two releases for someone who builds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dsv4_doctor.releases import tables
from dsv4_doctor.releases.entry import Entry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dsv4_doctor.knowledge.model import Feature, Release
    from dsv4_doctor.knowledge.places import Cited
    from dsv4_doctor.releases.tables import Tables


@dataclass(frozen=True)
class Side:
    """One of two releases that are compared.

    Attributes:
        tables: Its flags and variables; ``None`` when they are not known.
    """

    release: Release
    tables: Tables | None

    def entries(self) -> Iterator[tuple[str, Mapping[str, Entry]]]:
        """Give everything that is known, topic by topic and name by name."""
        yield from entries(self.release)
        if self.tables is not None:
            yield from tables.entries(self.tables)


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


def changes(old: Side, new: Side) -> tuple[Change, ...]:
    """Return what differs, topic by topic."""
    before, after = dict(entries(old.release)), dict(entries(new.release))
    if old.tables is not None and new.tables is not None:
        before |= dict(tables.compared(old.tables))
        after |= dict(tables.compared(new.tables))
    return tuple(
        Change(topic, name, before[topic].get(name), after[topic].get(name))
        for topic in before
        for name in dict.fromkeys([*before[topic], *after[topic]])
        if _differs(topic, before[topic].get(name), after[topic].get(name))
    )


def side(release: Release, tree: str = "") -> Side:
    """Return a release with what is known of its flags and variables.

    Raises:
        InputError: The tree cannot be read.
    """
    return Side(release, tables.of(release, tree))


def _differs(topic: str, before: Entry | None, after: Entry | None) -> bool:
    # An attribute of what came or went is no news besides.
    if topic in tables.ATTRIBUTES and (before is None or after is None):
        return False
    return _value(before) != _value(after)


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
