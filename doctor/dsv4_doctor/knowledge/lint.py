"""What ``lint`` knows besides the tables of flags: what replaces a flag, and which go together."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from packaging.specifiers import SpecifierSet

from dsv4_doctor.knowledge.places import cited, place
from dsv4_doctor.resources import files

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsv4_doctor.knowledge.places import Place


@dataclass(frozen=True)
class Instead:
    """What does the job of a flag that is gone.

    Attributes:
        says: In words.
        words: What is written instead, ``{value}`` for the old value; ``None`` where only a person
            can say, empty where nothing is needed any more.
        place: Where that stands.
    """

    says: str
    words: tuple[str, ...] | None
    place: Place | None


@dataclass(frozen=True)
class Condition:
    """One thing that must hold for a rule to speak.

    Attributes:
        flag: A flag, or a key of a flag's JSON value.
        variable: A variable of the environment instead.
        given: Whether it must be there.
        among: Values of which it must have one; empty for any.
        except_for: Values that it must not have.
        above: Another flag whose number its own must exceed.
        matches: What the value of a variable must have in it.
    """

    flag: str = ""
    variable: str = ""
    given: bool = True
    among: tuple[str, ...] = ()
    except_for: tuple[str, ...] = ()
    above: str = ""
    matches: re.Pattern[str] | None = None


@dataclass(frozen=True)
class Rule:
    """Flags that do not go together, or not with a model or a GPU.

    Attributes:
        releases: For which it holds.
        model: Family that the model must be of, empty for any.
        capabilities: Of the GPU, such as ``9`` or ``8.6``; empty for any GPU, and for
            one that is not known.
        when: All of these must hold.
        value: What the first condition's flag must be instead; empty where a person decides.
        drop: Whether the first condition's flag can go without a change of what the server does.
    """

    id: str
    status: Literal["fail", "warn"]
    releases: SpecifierSet
    model: str
    capabilities: tuple[str, ...]
    when: tuple[Condition, ...]
    says: str
    do: str
    value: str
    drop: bool
    place: Place


@dataclass(frozen=True)
class Extern:
    """Environment variables that another library than vLLM reads, by prefix.

    Attributes:
        prefix: Such as ``NCCL_``.
        reader: Who reads them.
        names: All that were found.
        places: Where they were found.
    """

    prefix: str
    reader: str
    names: frozenset[str]
    places: tuple[Place, ...]


@cache
def _read(name: str) -> Mapping[str, Any]:
    content: Mapping[str, Any] = json.loads(
        files(__package__).joinpath(name).read_text(encoding="utf-8")
    )
    return content


@cache
def instead() -> dict[str, Instead]:
    """Return what replaces flags and variables that releases dropped, by name."""
    return {
        name: Instead(
            each["says"],
            tuple(each["words"]) if "words" in each else None,
            place(each["at"], "vllm", "") if "at" in each else None,
        )
        for name, each in _read("lint.json")["instead"].items()
    }


@cache
def model_by_position() -> tuple[SpecifierSet, Place]:
    """Return the releases that take the model only as the word after ``vllm serve``, and where."""
    found = cited(_read("lint.json")["model_by_position"], "vllm", "")
    return SpecifierSet(found.value), found.place


@cache
def rules() -> tuple[Rule, ...]:
    """Return the rules on flags that do not go together."""
    return tuple(map(_rule, _read("lint.json")["rules"]))


@cache
def externs() -> tuple[Extern, ...]:
    """Return the environment variables of NCCL, torch and CUDA."""
    return tuple(
        Extern(
            each["prefix"],
            each["reader"],
            frozenset(each["names"].split()),
            tuple(place(one, each["reader"], "") for one in each["at"]),
        )
        for each in _read("runtime_variables.json")["readers"]
    )


def _rule(data: Mapping[str, Any]) -> Rule:
    return Rule(
        id=data["id"],
        status=data["status"],
        releases=SpecifierSet(data.get("releases", "")),
        model=data.get("model", ""),
        capabilities=tuple(data.get("capabilities", ())),
        when=tuple(map(_condition, data["when"])),
        says=data["says"],
        do=data["do"],
        value=data.get("value", ""),
        drop=data.get("drop", False),
        place=place(data["at"], "vllm", ""),
    )


def _condition(data: Mapping[str, Any]) -> Condition:
    return Condition(
        flag=data.get("flag", ""),
        variable=data.get("variable", ""),
        given=data.get("given", True),
        among=tuple(data.get("among", ())),
        except_for=tuple(data.get("except_for", ())),
        above=data.get("above", ""),
        matches=re.compile(data["matches"]) if "matches" in data else None,
    )
