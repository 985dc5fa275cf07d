"""What the results of the CUDA driver API mean, and what usually mends them."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from dsv4_doctor.knowledge.model import Place
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


@cache
def cuda_errors() -> Mapping[int, CudaError]:
    """Return the known errors of the CUDA driver API by code."""
    text = files(__package__).joinpath("cuda_errors.json").read_text(encoding="utf-8")
    return {each["code"]: _error(each) for each in json.loads(text)["errors"]}


def _error(data: Mapping[str, Any]) -> CudaError:
    return CudaError(
        code=data["code"],
        name=data["name"],
        title=data["title"],
        causes=tuple(data["causes"]),
        remedy=data["remedy"],
        place=Place(**data["at"]),
    )
