"""The GPU architectures there are, and how code for one relates to the others."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from dsv4_doctor.arch import Arch
from dsv4_doctor.knowledge.places import Place
from dsv4_doctor.lazy_dataclass import dataclass
from dsv4_doctor.resources import files

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class GpuArch:
    """One GPU architecture.

    Attributes:
        arch: Without a suffix.
        products: Examples, as NVIDIA's list of compute capabilities names them.
        names: Every product name that is known, the examples among them, without the maker's.
        isolated: Whether it exchanges machine code with no other architecture of its major
            version, as integrated GPUs do.
        family: The architecture after which its family is called, ``None`` when it has none.
        renamed: The number under which later drivers know the same chip.
        place: Where it stands.
    """

    arch: Arch
    products: tuple[str, ...]
    names: tuple[str, ...]
    isolated: bool
    family: Arch | None
    renamed: Arch | None
    place: Place


@cache
def gpu_archs() -> Mapping[Arch, GpuArch]:
    """Return every known architecture, by itself without a suffix."""
    text = files(__package__).joinpath("gpu_archs.json").read_text(encoding="utf-8")
    return {each.arch: each for each in map(_gpu_arch, json.loads(text)["archs"])}


def gpu_arch(arch: Arch) -> GpuArch:
    """Return what is known of an architecture; one that is not known obeys the general rule."""
    known = gpu_archs().get(arch.base)
    if known is not None:
        return known
    nowhere = Place("dsv4-doctor", "", "knowledge/gpu_archs.json does not have it")
    return GpuArch(arch.base, (), (), False, None, None, nowhere)


def arch_named(product: str) -> Arch | None:
    """Return the architecture of a GPU by the name that its driver gives, ``None`` if not known.

    The words of the longest known name must stand in it side by side: ``NVIDIA A100-SXM4-80GB`` is
    an A100, ``NVIDIA RTX A4000`` is not an RTX 4000.
    """
    words = _words(product)
    best: tuple[int, Arch | None] = (0, None)
    for each in gpu_archs().values():
        for name in map(_words, each.names):
            if len(name) > best[0] and f" {' '.join(name)} " in f" {' '.join(words)} ":
                best = (len(name), each.arch)
    return best[1]


def _words(name: str) -> list[str]:
    return re.split(r"[\s-]+", name.lower().partition("(")[0].strip())


def _gpu_arch(data: Mapping[str, Any]) -> GpuArch:
    return GpuArch(
        arch=Arch.parse(data["arch"]),
        products=tuple(data["products"]),
        names=(*data["products"], *data.get("also", ())),
        isolated=data.get("isolated", False),
        family=_optional(data.get("family")),
        renamed=_optional(data.get("renamed")),
        place=Place(**{"release": "", **data["at"]}),
    )


def _optional(text: str | None) -> Arch | None:
    return Arch.parse(text) if text else None
