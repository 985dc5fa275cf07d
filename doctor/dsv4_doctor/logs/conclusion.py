"""From ranked hits to what is said: words filled with facts, remedies for the machine."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dsv4_doctor.knowledge.signature import FACT, OPTIONAL
from dsv4_doctor.logs import decode
from dsv4_doctor.logs.diagnosis import Cause, Diagnosis, Followed, Known, Line, Remark
from dsv4_doctor.logs.matching import shortened, stripped, unreadable
from dsv4_doctor.report import Command, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dsv4_doctor.facts.host import Host
    from dsv4_doctor.logs.matching import Telling
    from dsv4_doctor.logs.ranking import Group, Ranked
    from dsv4_doctor.logs.scan import Candidate
    from dsv4_doctor.report import Finding

# Lines of the log that are shown for one cause.
_SHOWN = 3
# Units and streams that are listed for one cause.
_LISTED = 8


@dataclass(frozen=True)
class Machine:
    """What is known of the machine that wrote the log.

    Attributes:
        findings: What ``check`` says of it.
    """

    host: Host | None
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Read:
    """What was read, apart from the hits.

    Attributes:
        counts: Number of lines of each signature, also of those that were not kept.
        telling: Lines that complain and that no signature knows.
        last: The last lines.
    """

    source: str
    lines: int
    size: int
    notes: tuple[str, ...]
    counts: Mapping[str, int] = field(default_factory=dict)
    telling: tuple[Telling, ...] = ()
    last: tuple[Candidate, ...] = ()


def conclude(ranked: Ranked, read: Read, machine: Machine | None = None) -> Diagnosis:
    """Say what is known of a log."""
    causes = tuple(_cause(each, read, machine) for each in ranked.causes)
    hints = () if causes else tuple(_cause(each, read, machine) for each in ranked.hints)
    return Diagnosis(
        source=read.source,
        lines=read.lines,
        size=read.size,
        notes=read.notes,
        causes=causes,
        hints=hints,
        overcome=_followed(ranked.overcome),
        remarks=tuple(_remark(each) for each in ranked.remarks),
        success=_success(ranked),
        telling=() if causes else _telling(ranked, read),
    )


def _success(ranked: Ranked) -> Followed | None:
    hit = ranked.success
    return Followed(hit.signature.id, hit.signature.title, hit.number, 1) if hit else None


def _cause(group: Group, read: Read, machine: Machine | None) -> Cause:
    first = group.hits[0]
    signature = first.signature
    facts = decode.facts({**_all_facts(group), **first.facts})
    known = _known(signature.check, machine)
    concrete = next((each.remedy for each in known if each.remedy is not None), None)
    general = _filled_remedy(signature.remedy, facts)
    return Cause(
        id=signature.id,
        title=signature.title,
        stage=signature.stage,
        confidence=group.confidence,
        lines=tuple(_distinct(group)),
        count=read.counts.get(signature.id, len(group.hits)),
        explanation=_filled(signature.cause, facts),
        facts=facts,
        units=tuple(dict.fromkeys(hit.unit for hit in group.hits if hit.unit))[:_LISTED],
        streams=tuple(dict.fromkeys(hit.stream for hit in group.hits if hit.stream))[:_LISTED],
        look_alike=signature.look_alike,
        established=signature.established,
        remedy=concrete or decode.with_package(general, facts, _host(machine)),
        concrete=concrete is not None,
        check=signature.check,
        known=tuple(Known(each.id, each.status, each.title, each.found) for each in known),
        sources=tuple(map(str, signature.sources)),
        followed=_followed(group.followed),
    )


def _remark(group: Group) -> Remark:
    first = group.hits[0]
    explanation = _filled(first.signature.cause, decode.facts({**_all_facts(group), **first.facts}))
    line = Line(first.number, first.text)
    return Remark(first.signature.id, first.signature.title, line, explanation)


def _host(machine: Machine | None) -> Host | None:
    return machine.host if machine is not None else None


def _all_facts(group: Group) -> dict[str, str]:
    return {name: value for hit in reversed(group.hits) for name, value in hit.facts.items()}


def _distinct(group: Group) -> Iterable[Line]:
    texts: dict[str, Line] = {}
    for hit in group.hits:
        texts.setdefault(hit.text, Line(hit.number, hit.text))
    return list(texts.values())[:_SHOWN]


def _known(check: str, machine: Machine | None) -> tuple[Finding, ...]:
    """Return what ``check`` says of the matter, what is wrong first.

    That it passes is worth knowing, too: the log is then of another state of the machine.
    """
    if machine is None or not check:
        return ()
    order = {"fail": 0, "warn": 1, "unknown": 2, "pass": 3}
    found = [
        each
        for each in machine.findings
        if each.status in order and (each.id == check or each.id.startswith(f"{check}."))
    ]
    return tuple(sorted(found, key=lambda each: order[each.status]))


def _followed(groups: Iterable[Group]) -> tuple[Followed, ...]:
    return tuple(
        Followed(
            id=each.id,
            title=each.hits[0].signature.title,
            line=each.number,
            count=len(each.hits),
        )
        for each in groups
    )


def _telling(ranked: Ranked, read: Read) -> tuple[Line, ...]:
    """Return lines that complain, with what follows from a cause that is not known."""
    lines = {each.number: Line(each.number, each.text) for each in read.telling}
    for group in ranked.consequences:
        hit = group.hits[0]
        lines.setdefault(hit.number, Line(hit.number, hit.text))
    if not lines and ranked.success is None:
        for last in read.last:
            text = stripped(last).text
            if not unreadable(text):
                lines.setdefault(last.number, Line(last.number, shortened(text)))
    return tuple(lines[number] for number in sorted(lines))


def _filled(text: str, facts: Mapping[str, str]) -> str:
    """Return words with facts in them; a part in double brackets goes when its fact is not known.

    What is left without brackets is in every log that the signature matches, or is said to miss.
    """
    kept = OPTIONAL.sub(lambda part: _part(part[1], facts), text)
    return FACT.sub(lambda fact: facts.get(fact[1]) or f"({fact[1]} not said)", kept)


def _part(text: str, facts: Mapping[str, str]) -> str:
    return text if all(facts.get(name) for name in FACT.findall(text)) else ""


def _filled_remedy(remedy: Remedy | None, facts: Mapping[str, str]) -> Remedy | None:
    if remedy is None:
        return None
    commands = (_filled_command(each, facts) for each in remedy.commands)
    return Remedy(_filled(remedy.text, facts), tuple(each for each in commands if each is not None))


def _filled_command(command: Command, facts: Mapping[str, str]) -> Command | None:
    """Return a command with facts of the log in it; none when one of them is not known."""
    words = (*command.argv, *(command.env or {}).values())
    if not all(facts.get(name) for word in words for name in FACT.findall(word)):
        return None
    env = command.env
    if env is not None:
        env = {name: _filled(value, facts) for name, value in env.items()}
    return replace(command, argv=tuple(_filled(each, facts) for each in command.argv), env=env)
