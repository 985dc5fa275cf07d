"""What a machine needs that no release says in its build files: limits, memory, known errors."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from dsv4_doctor.knowledge.model import Cited, Place

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class CudaError:
    """One result of the CUDA driver API.

    Attributes:
        code: Such as 802.
        name: Such as ``CUDA_ERROR_SYSTEM_NOT_READY``.
        title: What it says, in words.
        causes: The most likely first.
        remedy: What to do.
        place: Where the code is defined.
    """

    code: int
    name: str
    title: str
    causes: tuple[str, ...]
    remedy: str
    place: Place


@cache
def values() -> Mapping[str, Cited]:
    """Return limits and floors by name, each with its place."""
    return {name: _cited(each) for name, each in _read("machine.json")["values"].items()}


def number(name: str) -> float:
    """Return one limit as a number, in the unit that its name ends with."""
    return float(values()[name].value)


@cache
def cuda_errors() -> Mapping[int, CudaError]:
    """Return the known errors of the CUDA driver API by code."""
    return {each["code"]: _error(each) for each in _read("cuda_errors.json")["errors"]}


def _read(name: str) -> Mapping[str, Any]:
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    content: Mapping[str, Any] = json.loads(text)
    return content


def _cited(data: Mapping[str, Any]) -> Cited:
    return Cited(data["value"], _place(data["at"]))


def _error(data: Mapping[str, Any]) -> CudaError:
    return CudaError(
        code=data["code"],
        name=data["name"],
        title=data["title"],
        causes=tuple(data["causes"]),
        remedy=data["remedy"],
        place=_place(data["at"]),
    )


def _place(data: Mapping[str, Any]) -> Place:
    return Place(data["project"], data.get("release", ""), data["file"], data.get("line"))
