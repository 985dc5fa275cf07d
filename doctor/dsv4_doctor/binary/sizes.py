"""What makes a binary large: bytes by architecture and by kernel family."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsv4_doctor.binary.contents import Inspection

# What is no device code: the host's machine code, data, symbols.
HOST = "host"
# Machine code of kernels that match no known family.
OTHER = "other"


@dataclass(frozen=True)
class ArchSize:
    """The images of one kind and architecture in all objects.

    Attributes:
        kind: ``cubin``, ``ptx``, ``lto``, ``other``, or ``host`` for everything else.
        arch: Such as ``sm_90a``, empty for ``host``.
        objects: Objects that have some.
        images: How many there are.
        stored: Bytes that they take in those objects.
        size: Bytes once decompressed.
        share: ``stored`` as a part of all objects' bytes, from 0 to 1.
    """

    kind: str
    arch: str
    objects: int
    images: int
    stored: int
    size: int
    share: float


@dataclass(frozen=True)
class FamilySize:
    """The kernels of one family in all objects.

    A kernel can belong to two families, as those of FA3 are CUTLASS kernels, too, and then counts
    for both.

    Attributes:
        family: Its id, or ``other`` for the kernels of none.
        archs: Such as ``sm_90a``.
        objects: Objects that have some.
        kernels: How many there are, ``None`` for ``other``.
        code: Bytes of their machine code, decompressed.
        share: ``code`` as a part of the machine code of all kernels, from 0 to 1.
    """

    family: str
    archs: tuple[str, ...]
    objects: int
    kernels: int | None
    code: int
    share: float


def sizes_by_arch(inspection: Inspection) -> tuple[ArchSize, ...]:
    """Return the bytes of every kind and architecture, the most first."""
    total = sum(each.size for each in inspection.objects)
    groups: dict[tuple[str, str], list[tuple[str, int, int, int]]] = {}
    for each in inspection.objects:
        for image in each.images:
            numbers = (each.name, image.count, image.stored, image.size)
            groups.setdefault((image.kind, image.arch), []).append(numbers)
        rest = each.size - sum(image.stored for image in each.images)
        groups.setdefault((HOST, ""), []).append((each.name, 0, rest, rest))
    sizes = [_arch_size(*key, rows, total) for key, rows in groups.items()]
    return tuple(sorted(sizes, key=lambda each: -each.stored))


def sizes_by_family(inspection: Inspection) -> tuple[FamilySize, ...]:
    """Return the machine code of every family, the most first.

    Only what was read counts: the inspection should have been made with ``Options.kernels``.
    """
    total = sum(each.code or 0 for each in inspection.objects)
    found: dict[str, FamilySize] = {}
    for each in inspection.objects:
        for family in dict.fromkeys(proof.family for proof in each.families):
            proofs = [proof for proof in each.families if proof.family == family]
            code = sum(proof.total for proof in proofs)
            known = found.get(family) or FamilySize(family, (), 0, 0, 0, 0.0)
            found[family] = FamilySize(
                family=family,
                archs=tuple(dict.fromkeys((*known.archs, *(proof.arch for proof in proofs)))),
                objects=known.objects + 1,
                kernels=(known.kernels or 0) + sum(proof.kernels for proof in proofs),
                code=known.code + code,
                share=_share(known.code + code, total),
            )
    unclaimed = [each.unclaimed for each in inspection.objects if each.unclaimed]
    if unclaimed:
        rest = sum(unclaimed)
        found[OTHER] = FamilySize(OTHER, (), len(unclaimed), None, rest, _share(rest, total))
    return tuple(sorted(found.values(), key=lambda each: -each.code))


def _arch_size(
    kind: str, arch: str, rows: Iterable[tuple[str, int, int, int]], total: int
) -> ArchSize:
    listed = list(rows)
    stored = sum(row[2] for row in listed)
    return ArchSize(
        kind=kind,
        arch=arch,
        objects=len({row[0] for row in listed}),
        images=sum(row[1] for row in listed),
        stored=stored,
        size=sum(row[3] for row in listed),
        share=_share(stored, total),
    )


def _share(part: int, total: int) -> float:
    return part / total if total else 0.0
