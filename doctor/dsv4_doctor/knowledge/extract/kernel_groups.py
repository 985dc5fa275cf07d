"""The kernels that a tree compiles: each list of sources that has architectures of its own.

A group is named by the hand-kept ``knowledge/kernel_families.json``, or after the variable that
holds its architectures (``DSV3_FUSED_A_GEMM_ARCHS``). A source that is compiled for every
architecture of the build is a group of its own, named after its file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from dsv4_doctor.knowledge.extract import archs as arch_lists
from dsv4_doctor.knowledge.extract.extension_files import DEFINES
from dsv4_doctor.knowledge.extract.families import GENCODE, after
from dsv4_doctor.knowledge.extract.nvcc import specifiers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from dsv4_doctor.knowledge.extract.cmake_state import Event, Word
    from dsv4_doctor.knowledge.extract.facts import Json
    from dsv4_doctor.knowledge.extract.histories import Said
    from dsv4_doctor.knowledge.extract.nvcc import Range, Walks

EVERY = "*"
_OPEN = "?"
# Trees before 0.6.3 give some sources compiler flags instead, which are not read.
_OWN_FLAGS = "set_source_files_properties"
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_SUFFIX = re.compile(r"_ARCHS$|_SUPPORT_ARCHS$|_CUDA_ARCHS$")
_VAGUE = frozenset({"common", "topk", "ops", "entry"})
_COMPILED = (".cu", ".cpp")
_BINDINGS = re.compile(r"bindings|registration|pybind|torch_api|\bapi\.cpp")


@dataclass
class _Group:
    """One group over the ranges of nvcc."""

    file: str
    line: int
    extension: str
    archs: dict[Range, str] = field(default_factory=dict)


def groups(walks: Walks, families: Sequence[Json]) -> dict[str, Said]:
    """Return the groups by name, with file and line, in the form of the tables over releases.

    ``archs`` is by versions of nvcc: those of the build that it is compiled for, ``*`` for all of
    them. A version that is not there does not compile it.

    Args:
        walks: What runs in the tree's CMake.
        families: The rules of ``kernel_families.json``.
    """
    rules = _Rules(families)
    mentioned = {event.file for events in walks.events.values() for event in events if _own(event)}
    flagged = {
        word.text
        for events in walks.events.values()
        for event in events
        if event.name == _OWN_FLAGS
        for word in event.words
    }
    found: dict[str, _Group] = {}
    for each, events in walks.events.items():
        targets = dict(_targets(events))
        for compiled in (
            *_compiled(events, rules),
            *_plain(events, rules, flagged),
            *_listed(events, mentioned),
        ):
            extension = targets.get(compiled.source, "")
            group = found.setdefault(compiled.name, _Group(compiled.file, compiled.line, extension))
            before = group.archs.get(each, "")
            group.archs[each] = " ".join(dict.fromkeys([*before.split(), *compiled.archs.split()]))
    return {name: _said(walks, group) for name, group in sorted(found.items())}


@dataclass(frozen=True)
class _Compiled:
    """One list of sources under one version of nvcc.

    Attributes:
        source: The first of them, as the extension names it.
    """

    name: str
    source: str
    file: str
    line: int
    archs: str


class _Rules:
    """The hand-kept names of groups."""

    def __init__(self, families: Sequence[Json]) -> None:
        self.rules = [
            (str(each["name"]), re.compile(str(each["sources"])), bool(each.get("every")))
            for each in families
        ]

    def name(self, source: str, *, every: bool) -> str:
        """The name of a source's group, empty when no rule has one."""
        fitting = (
            name for name, pattern, one in self.rules if one is every and pattern.search(source)
        )
        return next(fitting, "")


def _said(walks: Walks, group: _Group) -> Said:
    by_value: dict[str, list[Range]] = {}
    for each, archs in group.archs.items():
        by_value.setdefault(archs, []).append(each)
    by_nvcc = {
        specifier: value
        for value, ranges in by_value.items()
        for specifier in specifiers(walks.ranges, ranges)
        if value and _OPEN not in value.split()
    }
    says: Json = {"archs": dict(sorted(by_nvcc.items()))} if by_nvcc else {}
    if group.extension:
        says["extension"] = group.extension
    return says, group.file, group.line


def _targets(events: Iterable[Event]) -> Iterator[tuple[str, str]]:
    """Which extension each source is compiled into."""
    for event in events:
        if event.name in DEFINES and event.words:
            for word in after(event, "SOURCES"):
                yield word.text, event.words[0].text


def _own(event: Event) -> bool:
    """Whether a command gives sources architectures of their own."""
    return event.name == GENCODE and _variable(event) != arch_lists.BUILT


def _compiled(events: Sequence[Event], rules: _Rules) -> Iterator[_Compiled]:
    """What is compiled, group by group."""
    own = {word.text for event in events if _own(event) for word in after(event, "SRCS")}
    for event in events:
        if event.name != GENCODE:
            continue
        sources = [each for each in after(event, "SRCS") if _is_kernel(each.text)]
        if not _own(event):
            for each in sources:
                if each.text not in own:
                    name = rules.name(each.text, every=True) or _stem(each.text)
                    yield _Compiled(name, each.text, each.file, each.line, EVERY)
        elif sources:
            named = filter(None, (rules.name(each.text, every=False) for each in sources))
            name = next(named, _by_variable(_variable(event)))
            yield _Compiled(name, sources[0].text, event.file, event.line, _archs(event))


def _plain(events: Sequence[Event], rules: _Rules, flagged: Collection[str]) -> Iterator[_Compiled]:
    """What a tree compiles that gives no sources architectures, so that all have the build's.

    In one that does, a source without is compiled for what nvcc takes by itself: no architecture
    that anybody asked for.
    """
    if any(event.name == GENCODE for event in events):
        return
    for event in events:
        for word in after(event, "SOURCES") if event.name in DEFINES else ():
            if word.text.endswith(".cu"):
                name = rules.name(word.text, every=True) or rules.name(word.text, every=False)
                archs = _OPEN if word.text in flagged else EVERY
                group = name or _stem(word.text)
                yield _Compiled(group, word.text, word.file, word.line, archs)


def _listed(events: Sequence[Event], mentioned: Collection[str]) -> Iterator[_Compiled]:
    """Lists of a file that compiles nothing for them: its kernels are compiled on the server."""
    supported = [
        part
        for event in events
        if event.name == "set" and event.words and event.words[0].text == arch_lists.SUPPORTED
        for part in _parts(event.words[1:])
    ]
    for event in events:
        if event.name == arch_lists.INTERSECTION and event.file not in mentioned:
            name = event.raw[0].text
            if name != arch_lists.BUILT:
                archs = arch_lists.intersection(_parts(event.words[1:]), supported)
                yield _Compiled(_by_variable(name), "", event.file, event.line, " ".join(archs))


def _parts(words: Iterable[Word]) -> list[str]:
    return [part for word in words for part in word.text.split(";")]


def _variable(event: Event) -> str:
    raw = [each.text for each in event.raw]
    at = raw.index("CUDA_ARCHS") + 1 if "CUDA_ARCHS" in raw[:-1] else 0
    match = _VARIABLE.fullmatch(raw[at]) if at else None
    return match[1] if match is not None else ""


def _archs(event: Event) -> str:
    texts = _parts(after(event, "CUDA_ARCHS"))
    return _OPEN if any("$" in each for each in texts) else " ".join(dict.fromkeys(texts))


def _is_kernel(source: str) -> bool:
    name = PurePosixPath(source).name
    return name.endswith(_COMPILED) and _BINDINGS.search(name) is None


def _stem(source: str) -> str:
    path = PurePosixPath(source)
    name = path.parent.name if "*" in path.stem else path.stem
    return (f"{path.parent.name}-{name}" if name in _VAGUE else name).replace("_", "-")


def _by_variable(name: str) -> str:
    return _SUFFIX.sub("", name).lower().replace("_", "-")
