"""What a tree's CMake asks of compilers, and for which architectures it compiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.version import Version

from dsv4_doctor.knowledge.extract import archs as arch_lists
from dsv4_doctor.knowledge.extract.facts import Gaps, Json, at, cited
from dsv4_doctor.knowledge.extract.nvcc import compared, specifiers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.knowledge.extract.cmake_state import Event
    from dsv4_doctor.knowledge.extract.cmake_syntax import Argument
    from dsv4_doctor.knowledge.extract.nvcc import Range, Walks

_HOST_COMPILER = "CMAKE_CXX_COMPILER_VERSION"
_CUDA_ONLY = "VLLM_GPU_LANG"


def minimum(walks: Walks) -> tuple[str, str, int] | None:
    """Return CMake's own floor: the version, its file and its line."""
    for event in walks.events[walks.ranges[-1]]:
        if event.name == "cmake_minimum_required" and len(event.raw) > 1:
            return event.raw[1].text.split("...")[0], event.file, event.line
    return None


def cxx_standard(walks: Walks) -> Json | None:
    """Return the C++ standard that the tree sets; ``None`` leaves it to torch."""
    for event in walks.events[walks.ranges[-1]]:
        if event.name == "set" and event.raw[0].text == "CMAKE_CXX_STANDARD" and event.certain:
            return cited(event.words[1].text, event.file, event.line)
    return None


def gcc_floors(walks: Walks) -> list[Json]:
    """Return the oldest gcc that is not refused with a fatal error, by scope."""
    found: dict[str, Json] = {}
    for event in walks.events[walks.ranges[-1]]:
        if event.name != "message" or not event.raw or event.raw[0].text != "FATAL_ERROR":
            continue
        inner = event.conditions[-1:]
        for limit in (each for one in inner if not one.negated for each in _less(one.tokens)):
            scoped = any(
                token.text == _CUDA_ONLY for one in event.conditions for token in one.tokens
            )
            place = at(event.file, limit.line)
            found[place] = {"value": limit.text, "scope": "cuda" if scoped else "all", "at": place}
    return list(found.values())


def _less(tokens: tuple[Argument, ...]) -> Iterator[Argument]:
    if not any(token.text == "GNU" for token in tokens):
        return
    for index in range(len(tokens) - 2):
        if _HOST_COMPILER in tokens[index].text and tokens[index + 1].text == "VERSION_LESS":
            yield tokens[index + 2]


def supported(walks: Walks, gaps: Gaps) -> list[Json]:
    """Return the architectures that each range of nvcc compiles for, newest compiler first."""
    lists: dict[tuple[str, int], tuple[list[str], list[Range]]] = {}
    for each, events in walks.events.items():
        chosen = [
            event
            for event in events
            if event.name == "set" and event.words and event.words[0].text == arch_lists.SUPPORTED
        ]
        if len(chosen) != 1 or not chosen[0].certain:
            gaps.add(f"cuda_archs: {len(chosen)} lists for nvcc {each.sample}")
            continue
        entries = [part for word in chosen[0].words[1:] for part in word.text.split(";")]
        place = chosen[0].file, chosen[0].line
        lists.setdefault(place, (entries, []))[1].append(each)
    found = [
        {"nvcc": specifier, "archs": entries, "at": at(*place)}
        for place, (entries, held) in lists.items()
        for specifier in specifiers(walks.ranges, held)
    ]
    return sorted(found, key=lambda each: _newest(str(each["nvcc"])), reverse=True)


def _newest(specifier: str) -> Version:
    low = [part[2:] for part in specifier.split(",") if part.startswith(">=")]
    return Version(low[0]) if low else Version("0")


def gates(event: Event) -> list[str]:
    """Return the places of the comparisons with nvcc's version around a command."""
    return [
        at(each.file, each.tokens[0].line)
        for each in event.conditions
        if compared(each.tokens) and not each.negated
    ]
