"""How one feature stands in a tree: the extension or the sources that carry it."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dsv4_doctor.knowledge.extract import archs as arch_lists
from dsv4_doctor.knowledge.extract.cmake_facts import gates
from dsv4_doctor.knowledge.extract.extension_files import DEFINES
from dsv4_doctor.knowledge.extract.facts import Gaps, Json, at
from dsv4_doctor.knowledge.extract.nvcc import specifiers
from dsv4_doctor.knowledge.extract.python_source import parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dsv4_doctor.knowledge.extract.cmake_state import Event, Word
    from dsv4_doctor.knowledge.extract.nvcc import Walks
    from dsv4_doctor.knowledge.extract.tree import SourceTree

# The compiler for which the knowledge files list a feature's architectures.
LISTED_NVCC = "13.0"
GENCODE = "set_gencode_flags_for_srcs"
_REGISTRY = "vllm/model_executor/models/registry.py"


@dataclass(frozen=True)
class Material:
    """What features are read from.

    Attributes:
        extensions: The release's extensions, by name, in the form of the knowledge files.
        gate_lines: Line of setup.py with the comparison that gates an extension.
        projects: The external projects in the form of the knowledge files.
    """

    tree: SourceTree
    walks: Walks
    extensions: Mapping[str, Json]
    gate_lines: Mapping[str, int]
    projects: Sequence[Json]


def read(name: str, rule: Json, material: Material, gaps: Gaps) -> Json | None:
    """Return what the tree says of one feature, ``None`` when it does not have it."""
    if "model" in rule:
        line = _model(material.tree, rule["model"])
        return None if line is None else {"present": True, "at": [at(_REGISTRY, line)]}
    if "extension" in rule:
        return _by_extension(rule, material)
    return _by_sources(name, re.compile(rule["sources"]), material, gaps)


def _model(tree: SourceTree, model: str) -> int | None:
    text = tree.text(_REGISTRY)
    for node in ast.walk(parse(text or "", _REGISTRY)):
        if isinstance(node, ast.Dict):
            for key in node.keys:
                if isinstance(key, ast.Constant) and key.value == model:
                    return key.lineno
    return None


def _by_extension(rule: Json, material: Material) -> Json | None:
    name: str = rule["extension"]
    extension = material.extensions.get(name)
    if extension is None:
        return None
    places = [extension["at"]]
    if name in material.gate_lines:
        places.append(at("setup.py", material.gate_lines[name]))
    found = _carried(extension)
    if "arch_variable" in rule:
        words = _variable(material.walks.at(LISTED_NVCC), rule["arch_variable"])
        found |= _archs(words)
        places += [at(word.file, word.line) for word in words]
    else:
        places += [each["at"] for each in material.projects if name in each.get("components", ())]
    return found | {"at": _unique(places)}


def _carried(extension: Json) -> Json:
    found: Json = {"present": True, "component": extension["name"]}
    for key in ("file", "nvcc"):
        if extension.get(key):
            found[key] = extension[key]
    if extension.get("optional"):
        found["optional"] = True
    return found


def _variable(events: Sequence[Event], name: str) -> list[Word]:
    """The list that a variable of architectures is made from, without what is not compiled."""
    supported = [
        part
        for event in events
        if event.name == "set" and event.words and event.words[0].text == arch_lists.SUPPORTED
        for word in event.words[1:]
        for part in word.text.split(";")
    ]
    for event in events:
        if event.name == arch_lists.INTERSECTION and event.raw[0].text == name:
            own = event.words[1:]
            kept = set(arch_lists.intersection([each.text for each in own], supported))
            return [each for each in own if set(each.text.split(";")) & kept]
    return []


def _archs(words: Iterable[Word]) -> Json:
    entries = [part for word in words for part in word.text.split(";") if arch_lists.is_arch(part)]
    found: Json = {}
    if entries:
        found["archs"] = arch_lists.dotted(arch_lists.parse(each) for each in entries)
    ptx = [arch_lists.parse(each) for each in entries if arch_lists.has_ptx(each)]
    if ptx:
        found["ptx"] = arch_lists.dotted(ptx)
    return found


def _by_sources(name: str, pattern: re.Pattern[str], material: Material, gaps: Gaps) -> Json | None:
    events = material.walks.at(LISTED_NVCC)
    units = _units(events, pattern)
    if not units:
        return None
    target = next((each for each in events if each.name in DEFINES and _holds(each, pattern)), None)
    extension = material.extensions.get(target.words[0].text) if target is not None else None
    if extension is None:
        gaps.add(f"{name}: which extension its sources are compiled into")
        return None
    own = _own_lists(events, pattern)
    if not own:  # Compiled as everything else is.
        places = _unique(at(each.file, each.line) for each in units)
        texts = list(dict.fromkeys(each.text for each in units))
        return _carried(extension) | {"units": texts, "at": places}
    words = [word for event in own for word in after(event, "CUDA_ARCHS")]
    if any("$" in word.text for word in words):
        gaps.add(f"{name}: some of its architectures")
    nvcc = specifiers(
        material.walks.ranges,
        [each for each, found in material.walks.events.items() if _own_lists(found, pattern)],
    )
    places = [at(word.file, word.line) for word in words]
    places += [gate for event in own for gate in gates(event)]
    found = _carried(extension) | _archs(words)
    if nvcc and nvcc[0]:
        found["nvcc"] = nvcc[0]
    return found | {"at": _unique(places)}


def _units(events: Sequence[Event], pattern: re.Pattern[str]) -> list[Word]:
    found: dict[str, Word] = {}
    for event in events:
        if event.name in {"set", "list", "file"}:
            for word in event.words[1:]:
                if pattern.search(word.text) and word.text.endswith((".cu", ".cpp")):
                    found.setdefault(word.text, word)
    return list(found.values())


def _holds(event: Event, pattern: re.Pattern[str]) -> bool:
    return any(pattern.search(word.text) for word in after(event, "SOURCES"))


def _own_lists(events: Sequence[Event], pattern: re.Pattern[str]) -> list[Event]:
    """The commands that give the feature's sources architectures other than all."""
    return [
        event
        for event in events
        if event.name == GENCODE
        and any(pattern.search(word.text) for word in after(event, "SRCS"))
        and not any(f"${{{arch_lists.BUILT}}}" == each.text for each in event.raw)
    ]


def after(event: Event, key: str) -> list[Word]:
    """Return the words of one keyword argument, which ends at the next keyword."""
    found: list[Word] = []
    inside = False
    for word in event.words:
        if word.text == key:
            inside = True
        elif word.text.isupper() and word.text.replace("_", "").isalpha():
            inside = False
        elif inside:
            found.append(word)
    return found


def _unique(places: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(places))
