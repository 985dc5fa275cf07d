"""GPU models by the name that NVML gives: for planning, where no machine can say it itself.

An installed GPU says its memory, its BAR1 and its links itself, and is believed.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from dsv4_doctor.arch import Arch
from dsv4_doctor.knowledge.places import Place
from dsv4_doctor.lazy_dataclass import dataclass
from dsv4_doctor.resources import files

if TYPE_CHECKING:
    from collections.abc import Mapping

_BRANDS = re.compile(r"(?:NVIDIA |Tesla )+")


@dataclass(frozen=True)
class Bar1:
    """BAR1 of one GPU model, as it was seen.

    Attributes:
        seen: Totals in bytes, ascending.
        comes: ``full`` covers the memory without anybody's doing; ``firmware`` does where the
            firmware has Resizable BAR switched on; ``small`` was never seen to.
        places: Where they were seen.
    """

    seen: tuple[int, ...]
    comes: Literal["full", "firmware", "small"]
    places: tuple[Place, ...]


@dataclass(frozen=True)
class Amount:
    """A number with the place where it stands."""

    value: int
    place: Place


@dataclass(frozen=True)
class GpuModel:
    """One GPU model. What is ``None`` was not established.

    Attributes:
        pattern: Matches what NVML calls it, without the brand before it.
        seen_as: Whole names that NVML was seen to give.
        memory_gb: As its maker counts it, in 10^9 bytes.
        memory: Frame buffer in bytes, as NVML counts it.
        nvlinks: NVLinks of one GPU; 0 for none.
        place: Where its architecture stands.
    """

    name: str
    pattern: re.Pattern[str]
    seen_as: tuple[str, ...]
    arch: Arch
    place: Place
    memory_gb: Amount | None = None
    memory: Amount | None = None
    bar1: Bar1 | None = None
    nvlinks: Amount | None = None


@cache
def gpu_models() -> tuple[GpuModel, ...]:
    """Return all known models, by architecture and name."""
    text = files(__package__).joinpath("gpus.json").read_text(encoding="utf-8")
    return tuple(map(_model, json.loads(text)["gpus"]))


def gpu_model(name: str) -> GpuModel | None:
    """Return the model of this NVML name, ``None`` for one that is not known."""
    bare = _BRANDS.sub("", name.strip(), count=1)
    return next((each for each in gpu_models() if each.pattern.fullmatch(bare)), None)


def _model(data: Mapping[str, Any]) -> GpuModel:
    return GpuModel(
        name=data["name"],
        pattern=re.compile(data["pattern"]),
        seen_as=tuple(data["seen_as"]),
        arch=Arch.parse(data["arch"]),
        place=_place(data["at"]),
        memory_gb=_amount(data.get("memory_gb")),
        memory=_amount(data.get("memory_mib"), 1 << 20),
        bar1=_bar1(data["bar1_mib"]) if "bar1_mib" in data else None,
        nvlinks=_amount(data.get("nvlinks")),
    )


def _bar1(data: Mapping[str, Any]) -> Bar1:
    places = data["at"] if isinstance(data["at"], list) else [data["at"]]
    return Bar1(
        tuple(each << 20 for each in data["values"]), data["comes"], tuple(map(_place, places))
    )


def _amount(data: Mapping[str, Any] | None, unit: int = 1) -> Amount | None:
    return None if data is None else Amount(data["value"] * unit, _place(data["at"]))


def _place(data: Mapping[str, Any]) -> Place:
    return Place(**{"release": "", **data})
