"""From hits to causes: what came first, what followed from it, what was overcome."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dsv4_doctor.knowledge.signature import Confidence
    from dsv4_doctor.logs.matching import Hit

# The unit of a ninja build that failed is named before its output.
UNIT = "unit"
# Lines after ``FAILED:`` that can be the output of that unit.
_UNIT_LINES = 2000
# A signature below this weight says what a program says itself; it explains nothing.
GENERIC = 20

_LESS: dict[Confidence, Confidence] = {"high": "medium", "medium": "low", "low": "low"}


@dataclass
class Group:
    """All hits of one signature that belong together.

    Attributes:
        hits: In the order of the log.
        confidence: Of the signature, less when the lines call themselves warnings.
        followed: What followed from it.
    """

    hits: list[Hit]
    confidence: Confidence
    followed: list[Group] = field(default_factory=list)

    @property
    def id(self) -> str:
        """The signature's id."""
        return self.hits[0].signature.id

    @property
    def number(self) -> int:
        """The line of the first hit."""
        return self.hits[0].number

    @property
    def mild(self) -> bool:
        """Whether every line of it calls itself a warning or less."""
        return all(hit.tolerated for hit in self.hits)

    @property
    def generic(self) -> bool:
        """Whether it only repeats what a program says itself."""
        return self.hits[0].signature.weight < GENERIC


@dataclass(frozen=True)
class Ranked:
    """What the hits of a log come to.

    Attributes:
        causes: First cause first; the others are independent of it.
        hints: Possibilities, when nothing better is known.
        overcome: What was followed by a success and by no failure.
        consequences: Lines that follow from something else.
        remarks: What is worth knowing and no failure.
        success: The last success, when no failing line comes after it.
    """

    causes: tuple[Group, ...]
    hints: tuple[Group, ...]
    overcome: tuple[Group, ...]
    consequences: tuple[Group, ...]
    remarks: tuple[Group, ...] = ()
    success: Hit | None = None


def rank(hits: Iterable[Hit]) -> Ranked:
    """Order hits by cause and consequence.

    Args:
        hits: In any order.
    """
    ordered = _with_units(sorted(hits, key=lambda hit: hit.number))
    consequences = [hit for hit in ordered if hit.signature.role == "consequence"]
    successes = [hit for hit in ordered if hit.signature.role == "success"]
    open_: list[Hit] = []
    overcome: list[Hit] = []
    for hit in ordered:
        if hit.signature.role in {"cause", "hint"}:
            (overcome if _was_overcome(hit, successes, consequences) else open_).append(hit)
    groups = _groups(open_)
    last = consequences[-1].number if consequences else 0
    causes = _independent([each for each in groups if _is_verdict(each, last)])
    hints = [each for each in groups if not _is_verdict(each, last)]
    return Ranked(
        causes=tuple(_attach(causes, _groups(consequences))),
        hints=tuple(_independent(hints)),
        overcome=tuple(_groups(overcome)),
        consequences=tuple(_groups(consequences)),
        remarks=tuple(_groups(hit for hit in ordered if hit.signature.role == "remark")),
        success=_ending(successes, (*consequences, *open_)),
    )


def _ending(successes: Sequence[Hit], failures: Sequence[Hit]) -> Hit | None:
    last = successes[-1] if successes else None
    if last is None or any(each.number > last.number for each in failures):
        return None
    return last


def _with_units(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits with the unit of the build whose output they stand in."""
    units: dict[str, tuple[int, str]] = {}
    result = []
    for hit in hits:
        if UNIT in hit.facts:
            units[hit.stream] = (hit.number, hit.facts[UNIT])
        number, unit = units.get(hit.stream, (0, ""))
        near = unit and hit.number - number <= _UNIT_LINES and hit.signature.stage == "compile"
        result.append(replace(hit, unit=unit) if near else hit)
    return result


def _was_overcome(hit: Hit, successes: Sequence[Hit], failures: Sequence[Hit]) -> bool:
    """Whether a success of the same stream comes after it, and no failure in between."""
    kinds = _OVERCOME.get(hit.signature.stage, frozenset())
    after = next(
        (
            each.number
            for each in successes
            if each.number > hit.number
            and each.stream == hit.stream
            and each.signature.stage in kinds
        ),
        None,
    )
    return after is not None and not any(hit.number < each.number < after for each in failures)


# Stage of a success to the stages before it that it shows to be overcome.
_BUILT = frozenset({"install", "compile", "link"})
_OVERCOME = {
    **dict.fromkeys(("configure", "compile", "link", "install"), _BUILT),
    **dict.fromkeys(("load", "start", "kernel"), frozenset({"start"})),
}


def _groups(hits: Iterable[Hit]) -> list[Group]:
    by_id: dict[str, list[Hit]] = defaultdict(list)
    for hit in hits:
        by_id[hit.signature.id].append(hit)
    return [Group(each, _confidence(each)) for each in by_id.values()]


def _confidence(hits: Sequence[Hit]) -> Confidence:
    confidence = hits[0].signature.confidence
    mild = all(hit.tolerated for hit in hits)
    return _LESS[confidence] if mild else confidence


def _is_verdict(group: Group, last_failure: int) -> bool:
    """Whether a group is more than a possibility.

    What only warns says why something failed when something failed after it.
    """
    if group.hits[0].signature.role != "cause" or group.confidence == "low":
        return False
    return not group.mild or (not group.generic and group.number < last_failure)


def _independent(groups: Iterable[Group]) -> list[Group]:
    """Return the groups that no other explains, the others attached to what explains them."""
    ordered = sorted(groups, key=lambda each: (each.generic, each.mild, each.number))
    result: list[Group] = []
    for group in ordered:
        explaining = next((each for each in result if _explains(each, group)), None)
        if explaining is not None:
            explaining.followed.append(group)
            continue
        # What is more exact may be told after what it explains.
        explained = [each for each in result if _explains_before(group, each)]
        group.followed.extend(explained)
        result = [each for each in result if each not in explained]
        result.append(group)
    return result


def _names(first: Group, other: Group) -> bool:
    return any(fnmatchcase(other.id, each) for each in first.hits[0].signature.explains)


def _explains_before(group: Group, other: Group) -> bool:
    """Whether a group explains one that was ranked before it."""
    exact = group.hits[0].signature.weight > other.hits[0].signature.weight
    return _names(group, other) and (exact or group.number < other.number)


def _explains(first: Group, later: Group) -> bool:
    if first.number > later.number and not later.generic:
        return False
    if _names(first, later):
        return True
    if not later.generic or first.generic:
        return False
    # What a program says itself in another unit of the build may be another fault.
    units = {hit.unit for hit in first.hits}
    return all(not hit.unit or hit.unit in units or not any(units) for hit in later.hits)


def _attach(causes: list[Group], consequences: Sequence[Group]) -> list[Group]:
    if causes:
        causes[0].followed.extend(
            replace(each, hits=later)
            for each in consequences
            if (later := [hit for hit in each.hits if hit.number >= causes[0].number])
        )
        causes[0].followed.sort(key=lambda each: each.number)
    return causes
