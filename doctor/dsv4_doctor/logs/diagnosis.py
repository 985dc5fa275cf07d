"""What is said of one log."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from dsv4_doctor import __version__
from dsv4_doctor.knowledge.signature import (  # noqa: TC001 - the schema is made from them
    Confidence,
    Stage,
)
from dsv4_doctor.report import Remedy, Status  # noqa: TC001 - likewise

SCHEMA = "dsv4-doctor/diagnosis/1"


@dataclass(frozen=True)
class Line:
    """A line of the log, without prefixes and shortened.

    Attributes:
        number: Counted from 1.
    """

    number: int
    text: str


@dataclass(frozen=True)
class Followed:
    """What came of a cause later in the log.

    Attributes:
        line: Number of the first line of it.
        count: Lines of it, as far as they were kept: up to forty from either end of the log.
    """

    id: str
    title: str
    line: int
    count: int


@dataclass(frozen=True)
class Remark:
    """Something worth knowing that is no failure, such as a part that was left out of a build.

    Attributes:
        line: Where it is said.
        explanation: What it means.
    """

    id: str
    title: str
    line: Line
    explanation: str


@dataclass(frozen=True)
class Known:
    """A finding of ``check`` over the same machine that says the same."""

    id: str
    status: Status
    title: str
    found: str


@dataclass(frozen=True)
class Cause:
    """One cause, or one possibility.

    Attributes:
        id: Of the signature; ``dsv4-doctor diagnose --show ID`` tells all of it.
        stage: Where it happens.
        lines: The first lines that show it.
        count: How many lines show it.
        explanation: What it is, with the facts of this log.
        facts: What was read in the lines.
        units: What was being built, when the log names it.
        streams: Processes or steps of a container build that wrote the lines.
        look_alike: What distinguishes it from what looks the same.
        established: What is known for sure and what upstream contradicts, when there is doubt.
        remedy: What to do; on a known machine, in its own terms.
        concrete: Whether the remedy was made for the machine that was given.
        check: Id, or beginning of ids, of the findings that say it beforehand; empty for none.
        known: Those findings, over the machine that was given.
        sources: Public reports of it.
        followed: What came of it.
    """

    id: str
    title: str
    stage: Stage
    confidence: Confidence
    lines: tuple[Line, ...]
    count: int
    explanation: str
    facts: dict[str, str]
    units: tuple[str, ...]
    streams: tuple[str, ...]
    look_alike: str
    established: str
    remedy: Remedy | None
    concrete: bool
    check: str
    known: tuple[Known, ...]
    sources: tuple[str, ...]
    followed: tuple[Followed, ...]


@dataclass(frozen=True)
class Diagnosis:
    """What is said of one log.

    Attributes:
        source: Name of the file.
        lines: Lines that were read.
        size: Bytes of text that were read, decompressed.
        notes: How the log was read, and what of that a reader must know.
        causes: First cause first. Empty when none is known.
        hints: Possibilities, given only when there is no cause.
        overcome: What looks like a cause and was followed by a success.
        remarks: What is worth knowing besides, whether there is a cause or not.
        success: What succeeded last, when nothing failed after it.
        telling: When there is no cause: the lines that say the most, in the order of the log.
    """

    source: str
    lines: int
    size: int
    notes: tuple[str, ...]
    causes: tuple[Cause, ...]
    hints: tuple[Cause, ...]
    overcome: tuple[Followed, ...]
    remarks: tuple[Remark, ...]
    success: Followed | None
    telling: tuple[Line, ...]

    @property
    def named(self) -> bool:
        """Whether a cause is named."""
        return bool(self.causes)

    def to_json(self) -> dict[str, Any]:
        """Return it in the schema ``dsv4-doctor/diagnosis/1``."""
        return {
            "schema": SCHEMA,
            "tool": {"name": "dsv4-doctor", "version": __version__},
            "verdict": "named" if self.causes else "unknown",
            **asdict(self),
        }
