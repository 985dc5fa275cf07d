"""The remedies of a report as steps, each thing once, what is worst first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dsv4_doctor.formats.plain import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsv4_doctor.report import Command, Finding, Report, Status

# A finding of another status has nothing to mend.
_ORDER: tuple[Status, ...] = ("fail", "unknown", "warn")


@dataclass(frozen=True)
class Step:
    """One thing to do.

    Attributes:
        findings: What it mends, the worst first.
        text: What to do, in a sentence.
        command: How, ``None`` where only a person can do it.
        others: Other commands that would do instead, in order of preference.
        against: A variable that an earlier step sets to something else, empty for none; this
            step is then not to be taken as it stands.
    """

    findings: tuple[Finding, ...]
    text: str
    command: Command | None
    others: tuple[Command, ...] = ()
    against: str = ""

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the findings, each once."""
        return tuple(dict.fromkeys(finding.id for finding in self.findings))

    @property
    def plain(self) -> bool:
        """Whether its command has no control characters, which no script or file should have."""
        line = self.command.shell() if self.command is not None else ""
        return one_line(line) == line

    @property
    def applicable(self) -> bool:
        """Whether ``fix --apply`` takes it."""
        wanted = self.command is not None and self.command.applicable
        return wanted and self.plain and not self.against


def plan(report: Report) -> tuple[Step, ...]:
    """Return the steps of a report; findings that one command mends share a step."""
    grouped: dict[object, list[Finding]] = {}
    for status in _ORDER:
        for finding in report.findings:
            if finding.status == status and finding.remedy is not None:
                grouped.setdefault(_key(finding), []).append(finding)
    return _contradictions(_step(each) for each in grouped.values())


def _key(finding: Finding) -> object:
    remedy = finding.remedy
    if remedy is None or not remedy.commands:
        return remedy.text if remedy is not None else ""
    first = remedy.commands[0]
    return first.argv, tuple((first.env or {}).items()), first.unset


def _step(findings: list[Finding]) -> Step:
    remedy = findings[0].remedy
    commands = remedy.commands if remedy is not None else ()
    return Step(
        findings=tuple(findings),
        text=remedy.text if remedy is not None else "",
        command=commands[0] if commands else None,
        others=commands[1:],
    )


def _contradictions(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Mark the steps that set a variable to something else than a step before them does."""
    values: dict[str, str | None] = {}
    result: list[Step] = []
    for step in steps:
        wanted = _variables(step.command)
        against = next(
            (name for name, value in wanted.items() if values.get(name, value) != value), ""
        )
        if against:
            result.append(Step(step.findings, step.text, step.command, step.others, against))
            continue
        values.update(wanted)
        result.append(step)
    return tuple(result)


def _variables(command: Command | None) -> dict[str, str | None]:
    """Return the variables that a command sets, ``None`` for one that it unsets.

    What is put before a variable's own value, as on PATH, contradicts nothing.
    """
    if command is None:
        return {}
    unset: dict[str, str | None] = dict.fromkeys(command.unset)
    env = command.env or {}
    return unset | {name: value for name, value in env.items() if f"${name}" not in value}
