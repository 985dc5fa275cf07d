"""Counting the kernels of each family in one object, and what they prove."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsv4_doctor.arch import Arch
    from dsv4_doctor.knowledge.kernels import Family, Variant


@dataclass(frozen=True)
class FamilyEvidence:
    """A family that is proved by the cubins of one architecture in one object.

    Attributes:
        family: Its id.
        arch: Such as ``sm_90a``.
        cubins: Cubins that hold matching kernels, of those that were read.
        kernels: Matching kernels in them.
        example: Mangled name of the largest one of the variant's first pattern.
        code: Size of its machine code in bytes.
        total: Size of the machine code of all matching kernels.
    """

    family: str
    arch: str
    cubins: int
    kernels: int
    example: str
    code: int
    total: int


class _Matches:
    def __init__(self) -> None:
        self.cubins = 0
        self.kernels = 0
        self.example = ""
        self.code = 0
        self.total = 0
        self.patterns: set[int] = set()


class Tally:
    """What the cubins of one object have shown so far."""

    def __init__(self, families: Iterable[Family]) -> None:
        self._families = tuple(families)
        self._matches: dict[tuple[str, int, Arch], _Matches] = {}
        #: Bytes of machine code of all kernels, and of those that belong to no family.
        self.code = 0
        self.unclaimed = 0

    def add(self, arch: Arch, kernels: Iterable[tuple[str, int]]) -> None:
        """Take the kernels of one cubin, as name and code size."""
        listed = list(kernels)
        claimed: set[int] = set()
        for family in self._families:
            for index, variant in enumerate(family.variants):
                if variant.accepts(arch):
                    claimed |= self._match((family.id, index, arch), variant, listed)
        self.code += sum(code for _, code in listed)
        self.unclaimed += sum(code for at, (_, code) in enumerate(listed) if at not in claimed)

    def proves(self, family: Family) -> bool:
        """Whether one architecture's cubins hold every kernel that a variant asks for."""
        return any(self._proved(family))

    def evidence(self) -> tuple[FamilyEvidence, ...]:
        """Return every family and architecture that is proved."""
        return tuple(
            FamilyEvidence(
                family=family.id,
                arch=arch.sm,
                cubins=got.cubins,
                kernels=got.kernels,
                example=got.example,
                code=got.code,
                total=got.total,
            )
            for family in self._families
            for arch, got in sorted(self._proved(family), key=lambda pair: pair[0])
        )

    def _match(
        self, key: tuple[str, int, Arch], variant: Variant, kernels: list[tuple[str, int]]
    ) -> set[int]:
        found: set[int] = set()
        got = self._matches.get(key) or _Matches()
        for index, (name, code) in enumerate(kernels):
            matching = [at for at, each in enumerate(variant.compiled) if each.search(name)]
            if not matching:
                continue
            found.add(index)
            got.total += code
            got.patterns.update(matching)
            # The example is a kernel of the first pattern, which is the one that does the work.
            if 0 in matching and (code > got.code or not got.example):
                got.example, got.code = name, code
        if found:
            got.cubins += 1
            got.kernels += len(found)
            self._matches[key] = got
        return found

    def _proved(self, family: Family) -> Iterator[tuple[Arch, _Matches]]:
        for (name, index, arch), got in self._matches.items():
            if name == family.id and len(got.patterns) == len(family.variants[index].patterns):
                yield arch, got
