"""What a machine needs that no release says in its build files: limits, floors, memory."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from dsv4_doctor.knowledge.places import Cited, Place
from dsv4_doctor.resources import files

if TYPE_CHECKING:
    from collections.abc import Mapping


@cache
def values() -> Mapping[str, Cited]:
    """Return limits and floors by name, each with its place."""
    return {name: _cited(each) for name, each in _read("machine.json")["values"].items()}


def number(name: str) -> float:
    """Return one limit as a number, in the unit that its name ends with."""
    return float(values()[name].value)


def _read(name: str) -> Mapping[str, Any]:
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    content: Mapping[str, Any] = json.loads(text)
    return content


def _cited(data: Mapping[str, Any]) -> Cited:
    at = data["at"]
    place = Place(at["project"], at.get("release", ""), at["file"], at.get("line"))
    return Cited(data["value"], place)
