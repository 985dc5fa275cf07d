"""The source trees that a release's CMake downloads."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dsv4_doctor.knowledge.extract.facts import Gaps, Json, at

if TYPE_CHECKING:
    from collections.abc import Collection

    from dsv4_doctor.knowledge.extract.cmake_state import Event, Word
    from dsv4_doctor.knowledge.extract.nvcc import Walks

_FETCHES = frozenset({"fetchcontent_declare", "fetchcontent_populate"})
_ENVIRONMENT = re.compile(r"ENV\{(\w+)\}")
_TARGETS = frozenset(
    {"add_custom_target", "define_extension_target", "define_gpu_extension_target"}
)
_MAIN = "CMakeLists.txt"


def projects(walks: Walks, declared: Collection[str], gaps: Gaps) -> list[Json]:
    """Return the projects in the order of CMake.

    Args:
        walks: What runs in the tree's CMake.
        declared: Extensions that setup.py declares.
        gaps: Takes what could not be told.
    """
    events = walks.events[walks.ranges[-1]]
    found: dict[str, Json] = {}
    for event in events:
        if event.name not in _FETCHES or not event.words:
            continue
        name = event.words[0].text
        repository, revision = _after(event, "GIT_REPOSITORY"), _after(event, "GIT_TAG")
        if repository is None:
            continue
        if revision is None or "$" in revision.text or "$" in repository.text:
            gaps.add(f"external project {name}: its revision ({at(event.file, event.line)})")
            continue
        found[name] = {
            "name": name,
            "repository": repository.text,
            "revision": revision.text,
            "override": _override(event, events),
            "components": _components(event, events, declared),
            "at": at(revision.file, revision.line),
        }
    return [{key: value for key, value in each.items() if value} for each in found.values()]


def _after(event: Event, key: str) -> Word | None:
    texts = [word.text for word in event.words]
    place = texts.index(key) + 1 if key in texts else len(texts)
    return event.words[place] if place < len(texts) else None


def _override(event: Event, events: Collection[Event]) -> str:
    """The environment variable that the conditions around the download ask for."""
    conditions = [each for each in event.conditions if each.negated and each.file == event.file]
    asked = " ".join(token.text for each in conditions for token in each.tokens)
    direct = _ENVIRONMENT.search(asked)
    if direct is not None:
        return direct[1]
    for each in events:
        if each.name == "set" and each.file == event.file and len(each.raw) > 1:
            variable = _ENVIRONMENT.search(each.raw[1].text)
            if variable is not None and each.raw[0].text in asked.split():
                return variable[1]
    return ""


def _components(event: Event, events: Collection[Event], declared: Collection[str]) -> list[str]:
    """The extensions that are built or installed from it."""
    source = f"${{{event.words[0].text}_SOURCE_DIR}}"
    found: dict[str, None] = {}
    for each in events:
        if each.file != event.file:
            continue
        if each.name in _TARGETS and each.file != _MAIN and each.raw:
            found[each.raw[0].text] = None
        if each.name == "install" and (each.file != _MAIN or _mentions(each, source)):
            component = _after(each, "COMPONENT")
            if component is not None:
                found[component.text] = None
    return [name for name in declared if name in found]


def _mentions(event: Event, text: str) -> bool:
    return any(text in argument.text for argument in event.raw)
