"""The signatures of failures: what a program prints, what it means, and what to do."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from dsv4_doctor.report import Command, Remedy
from dsv4_doctor.resources import files

if TYPE_CHECKING:
    from collections.abc import Mapping

Stage: TypeAlias = Literal[
    "configure", "compile", "link", "install", "load", "start", "serve", "kernel"
]
Role: TypeAlias = Literal["cause", "hint", "remark", "consequence", "success", "noise"]
Confidence: TypeAlias = Literal["high", "medium", "low"]

STAGES: tuple[Stage, ...] = get_args(Stage)
ROLES: tuple[Role, ...] = get_args(Role)
CONFIDENCES: tuple[Confidence, ...] = get_args(Confidence)

# In the words of a signature: a fact, and a part that is left out when one of its facts is missing.
FACT = re.compile(r"\{(\w+)\}")
OPTIONAL = re.compile(r"\[\[([^\[\]]*)\]\]")

# The order in which the handbook shows them, and the title of each file.
FAMILIES: dict[str, str] = {
    "host": "Host compiler and C library",
    "toolkit": "CUDA toolkit, nvcc and run-time compilation",
    "driver": "Driver, compatibility libraries, fabric manager",
    "arch": "GPU architecture",
    "abi": "Binary compatibility and libraries",
    "build": "Building: memory, network, tools",
    "container": "Containers",
    "devices": "Several GPUs, and hardware",
    "deepseek": "DeepSeek models and their kernels",
    "serving": "Serving: memory, limits, time",
    "general": "What names itself",
    "surroundings": "Consequences, successes and noise",
}


@dataclass(frozen=True)
class Reference:
    """A public report of the failure.

    Attributes:
        project: ``owner/repository``, or a project's name for a document of it.
        number: Of the issue or pull request, 0 when it is a document.
        page: Path or title of the document.
    """

    project: str
    number: int = 0
    page: str = ""

    def __str__(self) -> str:
        return f"{self.project}#{self.number}" if self.number else f"{self.project} {self.page}"


@dataclass(frozen=True)
class Example:
    """A text in the layout of a real program, for the tests and the handbook.

    Attributes:
        text: One line or several.
        names: What is named first for it; empty when nothing is.
    """

    text: str
    names: str


@dataclass(frozen=True)
class Signature:
    """One failure that can be recognised, or one kind of line that must not be taken for one.

    Attributes:
        role: ``cause`` is a verdict, ``hint`` a possibility, ``remark`` worth knowing and no
            failure; ``consequence`` follows from something else; ``success`` shows that what was
            before was overcome; ``noise`` looks like an error and is none.
        patterns: Any of them in one line, prefixes taken off. Named groups are facts.
        literals: One of them is in every line that a pattern matches.
        unless: Any of them in the line, and it is something else.
        beside: One of these must be in a line nearby, when there are any.
        joined: Lines after it that the patterns see, too, each after a line feed.
        at_end: Whether it counts only among the last lines of a log.
        tolerated: Whether a line that says itself that it is a warning counts in full.
        weight: Which of two that match the same line is the more exact.
        cause: In words; see :data:`FACT` and :data:`OPTIONAL`.
        look_alike: What distinguishes it from what looks the same.
        check: Id, or beginning of ids, of the findings of ``check`` that say it beforehand.
        explains: Ids, with ``*`` for any part, of what follows from it when it comes later.
        established: What is known of it for sure, and what upstream contradicts.
    """

    id: str
    family: str
    title: str
    role: Role
    stage: Stage
    confidence: Confidence
    patterns: tuple[re.Pattern[str], ...]
    literals: tuple[str, ...]
    unless: tuple[re.Pattern[str], ...] = ()
    beside: tuple[re.Pattern[str], ...] = ()
    joined: int = 0
    at_end: bool = False
    tolerated: bool = False
    weight: int = 50
    cause: str = ""
    look_alike: str = ""
    established: str = ""
    remedy: Remedy | None = None
    check: str = ""
    explains: tuple[str, ...] = ()
    sources: tuple[Reference, ...] = ()
    examples: tuple[Example, ...] = field(default=(), repr=False)


@cache
def signatures() -> tuple[Signature, ...]:
    """Return every signature, family by family."""
    return tuple(
        _signature(each, family)
        for family in FAMILIES
        for each in _read(f"{family}.json")["signatures"]
    )


def by_id(identifier: str) -> Signature | None:
    """Return the signature of this id."""
    return next((each for each in signatures() if each.id == identifier), None)


@cache
def gates() -> tuple[str, ...]:
    """Return short strings one of which is in most literals; see :mod:`dsv4_doctor.logs.scan`."""
    return tuple(_read("gates.json")["gates"])


@cache
def header_packages() -> Mapping[str, Mapping[str, str]]:
    """Return which package of a distribution has a header: its name to ``debian``, ``redhat``."""
    packages: Mapping[str, Mapping[str, str]] = _read("packages.json")["headers"]
    return packages


def _read(name: str) -> Mapping[str, Any]:
    place = files(__package__).joinpath("signatures").joinpath(name)
    content: Mapping[str, Any] = json.loads(place.read_text(encoding="utf-8"))
    return content


def _signature(data: Mapping[str, Any], family: str) -> Signature:
    remedy = data.get("remedy")
    return Signature(
        id=data["id"],
        family=family,
        title=data["title"],
        role=data.get("role", "cause"),
        stage=data["stage"],
        confidence=data.get("confidence", "high"),
        patterns=_patterns(data["patterns"]),
        literals=tuple(data["literals"]),
        unless=_patterns(data.get("unless", ())),
        beside=_patterns(data.get("beside", ())),
        joined=data.get("joined", 0),
        at_end=data.get("at_end", False),
        tolerated=data.get("tolerated", False),
        weight=data.get("weight", 50),
        cause=data.get("cause", ""),
        look_alike=data.get("look_alike", ""),
        established=data.get("established", ""),
        remedy=_remedy(remedy) if remedy is not None else None,
        check=data.get("check", ""),
        explains=tuple(data.get("explains", ())),
        sources=tuple(Reference(**each) for each in data.get("sources", ())),
        examples=tuple(_example(each, data) for each in data.get("examples", ())),
    )


def _patterns(texts: tuple[str, ...] | list[str]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(each) for each in texts)


def _remedy(data: Mapping[str, Any]) -> Remedy:
    commands = tuple(
        Command(argv=tuple(each.get("argv", ())), env=each.get("env"), root=each.get("root", False))
        for each in data.get("commands", ())
    )
    return Remedy(data["text"], commands)


def _example(data: Mapping[str, Any], signature: Mapping[str, Any]) -> Example:
    lines = data["text"]
    text = lines if isinstance(lines, str) else "\n".join(lines)
    return Example(text, data.get("names", signature["id"]))
