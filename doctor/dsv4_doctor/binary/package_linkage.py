"""How the objects of one package are linked: reads them, and the torch that they are held to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.binary.dynamic import defined_of
from dsv4_doctor.binary.link_problems import summarise, wanted_of
from dsv4_doctor.binary.linkage import read_linkage
from dsv4_doctor.binary.package import Package, of_wheel
from dsv4_doctor.binary.symbols import owner_of, stem_of
from dsv4_doctor.binary.torch_libraries import read_torch
from dsv4_doctor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsv4_doctor.binary.link_problems import LinkageSummary
    from dsv4_doctor.binary.reading import Reading


def read(
    path: str, readings: Sequence[Reading], package: Package | None, torch: Path | None
) -> LinkageSummary:
    """Read how each object is linked, into ``linked`` or ``error``, and judge all together.

    Args:
        path: Where the objects come from.
        readings: The objects.
        package: What their distribution says of itself; ``None`` to ask the wheel, if it is one.
        torch: A torch whose libraries to look for symbols in.

    Raises:
        InputError: The libraries of that torch cannot be read.
    """
    for each in readings:
        if each.error is None:
            try:
                each.linked = read_linkage(each.source, each.name)
            except InputError as error:
                each.error = error
    linked = {each.name: each.linked for each in readings if each.linked is not None}
    wanted = wanted_of(linked.values())
    own = frozenset(
        symbol
        for each in readings
        if each.linked is not None
        for symbol in defined_of(each.source, wanted)
    )
    left = wanted - own
    stems = frozenset(stem_of(each) for each in left if owner_of(each) == "torch") - {""}
    found = read_torch(torch, left, stems) if torch is not None else None
    doubts: tuple[str, ...] = ()
    if package is None:
        package, doubts = _package(Path(path))
    summary = summarise(package, linked, own, found)
    return replace(summary, unknown=(*doubts, *summary.unknown))


def _package(path: Path) -> tuple[Package, tuple[str, ...]]:
    if path.is_dir():
        return Package(), ()
    try:
        return of_wheel(path) or Package(), ()
    except InputError as error:
        return Package(), (f"what the wheel says of itself: {error}",)
