"""What is wrong with a command line, and how it would be put right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dsv4_doctor.citation import Source  # noqa: TC001 - the schema is made from the annotations

Status = Literal["fail", "warn", "unknown"]


@dataclass(frozen=True)
class Fix:
    """A change that keeps what the command does, or does what it was meant to.

    Attributes:
        first: Position of the first word that is replaced.
        last: Position after the last one.
        words: What stands there instead; nothing takes them out.
        unset: A variable that is taken out of the environment instead.
    """

    first: int = 0
    last: int = 0
    words: tuple[str, ...] = ()
    unset: str = ""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong.

    Attributes:
        id: ``lint.subject.rule``, stable.
        status: ``fail`` does not start, or does something else than it says; ``warn`` starts and
            is worth a change; ``unknown`` could not be told, and says why.
        subject: The flag or variable, as the release calls it where it has it.
        title: One line.
        found: As it is written.
        expected: What the release takes.
        do: What to do.
        line: Line of the file; 0 for a command line.
        source: What it rests on.
        fix: How ``--fix`` changes it, ``None`` where it is left to a person.
    """

    id: str
    status: Status
    subject: str
    title: str
    found: str = ""
    expected: str = ""
    do: str = ""
    line: int = 0
    source: tuple[Source, ...] = ()
    fix: Fix | None = None
