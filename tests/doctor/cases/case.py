"""One public failure report as a test: small facts of our own, and the finding that names it."""

from __future__ import annotations

from dataclasses import dataclass

from dsv4_doctor.report import Status
from dsv4_doctor.snapshot import Snapshot
from dsv4_doctor.target import Target


@dataclass(frozen=True)
class Case:
    """One report.

    Attributes:
        id: Such as ``F1-01``: the family of the cause, and a number.
        report: Where the report stands: ``owner/repository#number`` or an address.
        facts: What a snapshot of that machine would have said before the failure; a healthy
            machine but for what the report tells.
        target: What its owner wanted.
        finding: Id of the finding that names the cause.
        status: What that finding says.
        names: Texts that the finding must have in what a reader sees.
    """

    id: str
    report: str
    facts: Snapshot
    target: Target
    finding: str
    status: Status = "fail"
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Invisible:
    """One report whose cause no check can see before the failure.

    Attributes:
        why: Why no fact of the machine tells it.
    """

    id: str
    report: str
    why: str
