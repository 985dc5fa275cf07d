"""The families of kernels that can be recognised inside a binary."""

from __future__ import annotations

import json
import re
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from dsv4_doctor.arch import Arch
from dsv4_doctor.knowledge.places import Place
from dsv4_doctor.lazy_dataclass import dataclass
from dsv4_doctor.resources import files

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Variant:
    """One set of kernels that proves a family.

    Attributes:
        archs: Architectures one of which the code must be for; empty for any.
        patterns: Regular expressions, each of which must match the mangled name of a kernel. In a
            mangled name an identifier follows its own length, which makes a match exact.
    """

    archs: tuple[Arch, ...]
    patterns: tuple[str, ...]

    def accepts(self, arch: Arch) -> bool:
        """Whether code for this architecture can prove the family."""
        return not self.archs or arch in self.archs

    @cached_property
    def compiled(self) -> tuple[re.Pattern[str], ...]:
        """The patterns, compiled only for families that are looked for: a check wants one."""
        return tuple(re.compile(each) for each in self.patterns)


@dataclass(frozen=True)
class Family:
    """One family of kernels.

    Attributes:
        id: What ``--require`` calls it.
        title: In words.
        feature: The feature of a release that it proves, empty for none.
        objects: Parts of the names of the files that usually hold it. They say where to look
            first and prove nothing.
        variants: Any of them proves it; none when no binary can.
        note: What a reader must know, such as why no binary holds the kernels.
        places: Where the names stand.
    """

    id: str
    title: str
    feature: str
    objects: tuple[str, ...]
    variants: tuple[Variant, ...]
    note: str
    places: tuple[Place, ...]

    def accepts(self, arch: Arch) -> bool:
        """Whether code for this architecture can prove the family."""
        return any(variant.accepts(arch) for variant in self.variants)

    def usual_in(self, name: str) -> bool:
        """Whether a file of this name usually holds the family."""
        base = name.rsplit("/", 1)[-1]
        return any(base.startswith(part) for part in self.objects)


@cache
def families() -> tuple[Family, ...]:
    """Return every known family."""
    text = files(__package__).joinpath("kernels.json").read_text(encoding="utf-8")
    return tuple(_family(each) for each in json.loads(text)["families"])


def _family(data: Mapping[str, Any]) -> Family:
    return Family(
        id=data["id"],
        title=data["title"],
        feature=data["feature"],
        objects=tuple(data["objects"]),
        variants=tuple(_variant(each) for each in data["variants"]),
        note=data.get("note", ""),
        places=tuple(Place(**{"release": "", **each}) for each in data["at"]),
    )


def _variant(data: Mapping[str, Any]) -> Variant:
    return Variant(
        archs=tuple(Arch.parse(each) for each in data.get("archs", ())),
        patterns=tuple(data["patterns"]),
    )
