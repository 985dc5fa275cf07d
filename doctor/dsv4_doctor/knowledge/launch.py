"""What `dsv4-doctor launch` knows: architectures, how releases count memory, and what it costs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from packaging.version import InvalidVersion, Version

from dsv4_doctor.knowledge.places import Cited, place
from dsv4_doctor.resources import files

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dsv4_doctor.knowledge.places import Place


@dataclass(frozen=True)
class Architecture:
    """One name of vLLM's registry of models.

    Attributes:
        attention: ``gqa``, ``mla`` or ``deepseek_v4``; empty for one whose memory this tool does
            not count.
        first: First known release that has it.
        why: Why it is not counted.
        instead: What helps then.
    """

    name: str
    attention: str
    first: str
    place: Place | None
    why: str = ""
    instead: str = ""


@dataclass(frozen=True)
class Accounting:
    """How a release counts the KV cache.

    Attributes:
        pool: How large a block of DeepSeek-V4's pool is: ``tuples`` of one page of each kind,
            ``buckets`` of as many pages of each kind as some group has, or the ``widest`` group.
        check: The same, for the check at the start.
        in_flight: Batches that may be under way at once.
    """

    pool: str
    check: str
    in_flight: int
    place: Place


@dataclass(frozen=True)
class Batch:
    """What a server schedules where nobody says otherwise, by the memory of a GPU.

    Attributes:
        memory: From so many bytes on.
        tokens: ``--max-num-batched-tokens``.
        sequences: ``--max-num-seqs``.
    """

    memory: int
    tokens: int
    sequences: int
    place: Place


@dataclass(frozen=True)
class Reason:
    """Why a parameter is given or left out.

    Attributes:
        text: For a reader; names in braces are filled in.
    """

    text: str
    place: Place


@dataclass(frozen=True)
class Advice:
    """Something that articles recommend, and what there is for it.

    Attributes:
        id: Short name.
        claim: What is recommended.
        verdict: ``default`` where the release does it by itself, ``choice`` where it depends on the
            operator, ``none`` where there is no such parameter.
        flags: The parameters that do it, best first; the first that the release has is named.
        text: What to do.
    """

    id: str
    claim: str
    verdict: str
    flags: tuple[str, ...]
    text: str
    place: Place


def _read(name: str) -> Mapping[str, Any]:
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    content: Mapping[str, Any] = json.loads(text)
    return content


@cache
def _data() -> Mapping[str, Any]:
    return _read("launch.json")


def _place(data: Mapping[str, Any]) -> Place:
    return place(data["at"], "vllm", _data()["release"])


def version(release: str) -> Version:
    """Return the version of a release; what is none, such as a checkout's, is after all others."""
    try:
        return Version(release)
    except InvalidVersion:
        return Version("9999")


def first_release() -> str:
    """Return the oldest release that is planned for."""
    first: str = _data()["first"]["value"]
    return first


@cache
def architectures() -> Mapping[str, Architecture]:
    """Return the known architectures by name."""
    return {
        each["name"]: Architecture(
            each["name"],
            each["attention"],
            each["first"],
            _place(each),
            each.get("why", ""),
            each.get("instead", ""),
        )
        for each in _data()["architectures"]
    }


def architecture(name: str) -> Architecture:
    """Return one architecture; one that nobody entered is not counted, and says so."""
    known = architectures().get(name)
    if known is not None:
        return known
    counted = ", ".join(each.name for each in architectures().values() if each.attention)
    why = "this tool does not know how its attention and its weights count"
    return Architecture(name, "", "", None, why, f"counted are: {counted}")


def _since(entries: Sequence[Mapping[str, Any]], release: str) -> Mapping[str, Any]:
    """The last entry that holds for a release; they stand oldest first."""
    held = [each for each in entries if version(each["from"]) <= version(release)]
    return (held or list(entries))[-1]


def accounting(release: str) -> Accounting:
    """Return how a release counts the KV cache."""
    found = _since(_data()["accounting"], release)
    return Accounting(found["pool"], found["check"], found["in_flight"], _place(found))


def batch(release: str, memory: int, *, small: bool = False) -> Batch:
    """Return what a server of this release schedules on a GPU of so many bytes.

    Args:
        release: Of vLLM.
        memory: Of one GPU.
        small: Whether it is a GPU that vLLM treats as a small one whatever its memory.
    """
    found = _since(_data()["batch"], release)
    sizes = found["sizes"][-1:] if small else found["sizes"]
    held = next(each for each in sizes if small or memory >= each["memory_gib"] << 30)
    return Batch(held["memory_gib"] << 30, held["tokens"], held["sequences"], _place(found))


def read_ahead(kind: str) -> Cited:
    """Return the first release that reads weights ahead.

    Args:
        kind: ``asked`` where the flag asks for it, ``automatic`` from NFS and Lustre by itself.
    """
    found = _data()["read_ahead"][kind]
    return Cited(found["value"], _place(found))


def cost(name: str) -> float:
    """Return one measured or estimated cost, in the unit that its name ends with."""
    return float(_data()["costs"][name]["value"])


def cost_place(name: str) -> Place:
    """Return where a cost comes from."""
    return _place(_data()["costs"][name])


def reason(name: str) -> Reason:
    """Return why a parameter is given or left out."""
    found = _data()["reasons"][name]
    return Reason(found["text"], _place(found))


@cache
def advice() -> tuple[Advice, ...]:
    """Return what articles recommend, each with what there is for it."""
    return tuple(
        Advice(
            each["id"],
            each["claim"],
            each["verdict"],
            tuple(each["flags"]),
            each["text"],
            _place(each),
        )
        for each in _data()["advice"]
    )


def published(backbone: str) -> Mapping[str, Any] | None:
    """Return the config.json of a published network, ``None`` where it was not established."""
    found = _data()["networks"].get(backbone)
    return None if found is None else found["config"]


def published_place(backbone: str) -> Place:
    """Return where that configuration stands."""
    return _place(_data()["networks"][backbone])
