"""What a distribution's metadata asks of another: a name and versions.

Not ``packaging.requirements``, by measured cost: its import took 26 ms of the 250 that a check has,
because it brings markers and platform tags, which nobody asks for here. The tests hold both
against each other.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from packaging.specifiers import InvalidSpecifier, SpecifierSet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.facts.python import Distribution

_REQUIREMENT = re.compile(
    r"\s*(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*\b)\s*(?:\[[^\]]*\])?\s*"
    r"\(?(?P<versions>[^;()@]*)\)?\s*(?:;.*)?",
    re.ASCII,
)


class Asked(NamedTuple):
    """One requirement: the normalised name, the versions, and both as they stand, for pip."""

    name: str
    specifier: SpecifierSet
    text: str


def parse(text: str) -> Asked | None:
    """Read one requirement, ``None`` for what is none or names a place instead of versions."""
    match = _REQUIREMENT.fullmatch(text)
    if match is None:
        return None
    try:
        versions = SpecifierSet(match["versions"].strip())
    except InvalidSpecifier:
        return None
    name = re.sub(r"[-_.]+", "-", match["name"]).lower()
    return Asked(name, versions, text.partition(";")[0].strip())


def of(dist: Distribution) -> Iterator[Asked]:
    """Yield what a distribution asks of others, as far as it can be read."""
    yield from (asked for text in dist.requires if (asked := parse(text)) is not None)


def on(dist: Distribution, name: str) -> Asked | None:
    """Return what a distribution asks of one package, ``None`` when it asks nothing."""
    return next((asked for asked in of(dist) if asked.name == name), None)
