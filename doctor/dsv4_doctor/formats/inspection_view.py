"""What of an inspection is shown, and as which rows, whatever the format."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsv4_doctor.binary.contents import Inspection
    from dsv4_doctor.binary.requirements import Decision
    from dsv4_doctor.binary.sizes import ArchSize, FamilySize
    from dsv4_doctor.images.image import ImageSummary

_HISTORY_SHOWN = 72
# As builders note a step: the number of its arguments, their values, the shell.
_SHELL = re.compile(r"^(?:\|\d+ .*?)?/bin/sh -c (?:#\(nop\) +)?")


@dataclass(frozen=True)
class View:
    """What is shown.

    Attributes:
        inspection: What was found.
        decisions: What was required, and whether it is there.
        by_arch: Bytes by architecture, ``None`` when not asked for.
        by_family: Machine code by kernel family, ``None`` when not asked for.
        image: The container image that it was found in, ``None`` for anything else.
    """

    inspection: Inspection
    decisions: tuple[Decision, ...] = ()
    by_arch: tuple[ArchSize, ...] | None = None
    by_family: tuple[FamilySize, ...] | None = None
    image: ImageSummary | None = None


@dataclass(frozen=True)
class Rows:
    """A table.

    Attributes:
        columns: Title of each, and whether it holds numbers.
        rows: The cells.
    """

    columns: tuple[tuple[str, bool], ...]
    rows: tuple[tuple[str, ...], ...]


def by_arch_rows(sizes: Iterable[ArchSize]) -> Rows:
    """Return the table of bytes by architecture."""
    columns = (
        *(("code", False), ("objects", True), ("images", True)),
        *(("in the file", True), ("decompressed", True), ("share", True)),
    )
    rows = (
        (
            each.arch or "host code and data",
            str(each.objects),
            str(each.images) if each.arch else "-",
            megabytes(each.stored),
            megabytes(each.size),
            _percent(each.share),
        )
        for each in sizes
    )
    return Rows(columns, tuple(rows))


def by_family_rows(sizes: Iterable[FamilySize]) -> Rows:
    """Return the table of machine code by kernel family."""
    columns = (
        *(("kernels of", False), ("machine code", False), ("objects", True)),
        *(("number", True), ("bytes", True), ("share", True)),
    )
    rows = (
        (
            "none of the known families" if each.kernels is None else each.family,
            short_archs(each.archs),
            str(each.objects),
            "-" if each.kernels is None else str(each.kernels),
            megabytes(each.code),
            _percent(each.share),
        )
        for each in sizes
    )
    return Rows(columns, tuple(rows))


def layer_rows(image: ImageSummary) -> Rows:
    """Return the table of an image's layers."""
    columns = (("layer", False), ("pulled", True), ("unpacked", True), ("made by", False))
    rows = (
        (
            each.digest.removeprefix("sha256:")[:12],
            megabytes(each.size),
            megabytes(each.unpacked),
            _step(each.made_by)[:_HISTORY_SHOWN],
        )
        for each in image.layers
    )
    return Rows(columns, tuple(rows))


def _step(made_by: str) -> str:
    """Return what a step of a history did, without the arguments and mounts that it had."""
    words = _SHELL.sub("", " ".join(made_by.split()))
    return " ".join(each for each in words.split() if not each.startswith("--mount="))


def short_archs(names: tuple[str, ...]) -> str:
    """Return architectures in short: ``80 90a``."""
    return " ".join(name.rpartition("_")[2] for name in names) or "-"


def megabytes(size: int) -> str:
    """Return a number of bytes in MB or kB."""
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.1f} kB"


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"
