"""What the results of the CUDA driver API mean, and what usually mends them."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from dsv4_doctor.knowledge.places import Place
from dsv4_doctor.lazy_dataclass import dataclass
from dsv4_doctor.resources import files

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


@dataclass(frozen=True)
class Complaint:
    """What NVML or the kernel driver says when something is wrong.

    Attributes:
        says: Part of its text.
        title: What that means, in words.
        remedy: What to do.
        container: Whether this holds in a container only or outside of one only, ``None`` for both.
        place: Where it is explained.
    """

    says: str
    title: str
    remedy: str
    container: bool | None
    place: Place


@cache
def cuda_errors() -> Mapping[int, CudaError]:
    """Return the known errors of the CUDA driver API by code."""
    return {each["code"]: _error(each) for each in _read()["errors"]}


def nvml_complaint(text: str, *, container: bool) -> Complaint | None:
    """Return what a text of NVML means, ``None`` when it is not known.

    Args:
        text: Of the error.
        container: Whether it was met in a container.
    """
    known = map(_complaint, _read()["nvml"])
    fits = (each for each in known if each.says in text and each.container in {None, container})
    return next(fits, None)


def log_complaints() -> tuple[Complaint, ...]:
    """Return what the kernel driver's complaints in the kernel's log mean, the clearest first."""
    return tuple(map(_complaint, _read()["messages"]))


@cache
def _read() -> Mapping[str, Any]:
    text = files(__package__).joinpath("cuda_errors.json").read_text(encoding="utf-8")
    content: Mapping[str, Any] = json.loads(text)
    return content


def _complaint(data: Mapping[str, Any]) -> Complaint:
    return Complaint(
        says=data["says"],
        title=data["title"],
        remedy=data["remedy"],
        container=data.get("container"),
        place=_place(data["at"]),
    )


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
    return Place(**{"release": "", **data})
