"""What the doctor says: findings, the report that holds them, its verdict and exit code."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from dsv4_doctor.citation import Source  # noqa: TC001 - the schema is made from the annotations
from dsv4_doctor.errors import EXIT_FAILED, EXIT_OK, EXIT_UNKNOWN
from dsv4_doctor.lazy_dataclass import as_data, dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsv4_doctor.target import Target

SCHEMA = "dsv4-doctor/report/1"

Status: TypeAlias = Literal["pass", "warn", "fail", "unknown", "skip"]
Verdict: TypeAlias = Literal["pass", "fail", "unknown"]

STATUSES: tuple[Status, ...] = get_args(Status)


@dataclass(frozen=True)
class Evidence:
    """One thing that was read.

    Attributes:
        what: The value or the line.
        where: File, command or interface that it was read from.
    """

    what: str
    where: str


@dataclass(frozen=True)
class Command:
    """One step of a remedy, as data: it runs as it stands, with nothing left to fill in.

    Either ``argv``, ``env`` or ``unset`` is set: a program to run, or variables to set or to
    unset in the shell that will run the build or the server.

    Attributes:
        root: Whether it needs root.
        safe: Whether ``fix --apply`` may take it: it changes only what is the user's own and can
            be taken back, a program by ``undo``, variables by the file that they are written to.
        undo: The program that takes ``argv`` back.
    """

    argv: tuple[str, ...] = ()
    env: dict[str, str] | None = None
    root: bool = False
    unset: tuple[str, ...] = ()
    safe: bool = False
    undo: tuple[str, ...] = ()

    @property
    def applicable(self) -> bool:
        """Whether ``fix --apply`` takes it: safe, without root, and with a way back."""
        variables = self.env is not None or bool(self.unset)
        return self.safe and not self.root and (variables or bool(self.argv and self.undo))

    def shell(self, *, sudo: bool = True) -> str:
        """Return the step as a line for a POSIX shell.

        Args:
            sudo: Whether a step that needs root is written with ``sudo``.
        """
        if self.env is not None:
            return "export " + " ".join(_assignment(*item) for item in self.env.items())
        if self.unset:
            return "unset " + " ".join(self.unset)
        # An unquoted word with "=" before the program would be an assignment.
        program = [f"'{each}'" if "=" in each else each for each in map(shlex.quote, self.argv[:1])]
        words = [*program, *map(shlex.quote, self.argv[1:])]
        return ("sudo " if self.root and sudo else "") + " ".join(words)


def _assignment(name: str, value: str) -> str:
    # "$PATH" has to be expanded by the user's shell, so double quotes and not single ones; every
    # other sign that means something inside of them stands for itself.
    if re.search(_VARIABLE, value):
        meant = re.sub(rf"({_VARIABLE})|[$`\"\\]", _quoted, value)
        return f'{name}="{meant}"'
    return f"{name}={shlex.quote(value)}"


_VARIABLE = r"\$[A-Za-z_][A-Za-z0-9_]*"


def _quoted(match: re.Match[str]) -> str:
    return match[0] if match[1] else f"\\{match[0]}"


@dataclass(frozen=True)
class Remedy:
    """What to do: one sentence, and the commands for it in order of preference."""

    text: str
    commands: tuple[Command, ...] = ()


@dataclass(frozen=True)
class Finding:
    """The result of one rule.

    Attributes:
        id: ``area.subject.rule``, stable across releases of the doctor.
        status: ``unknown`` means that it could not be told; it is never a pass.
        title: What was looked at and how it stands, in one line.
        found: What is there, empty when nothing is.
        expected: What should be there.
    """

    id: str
    status: Status
    title: str
    found: str = ""
    expected: str = ""
    evidence: tuple[Evidence, ...] = ()
    source: tuple[Source, ...] = ()
    remedy: Remedy | None = None


@dataclass(frozen=True)
class Report:
    """All findings about one machine for one target.

    Attributes:
        notes: Lines that explain the target itself, such as how the release was chosen.
    """

    tool_version: str
    hostname: str
    taken_at: str
    target: Target
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()

    @property
    def summary(self) -> dict[Status, int]:
        """How many findings have each status."""
        counts = Counter(finding.status for finding in self.findings)
        return {status: counts[status] for status in STATUSES}

    @property
    def verdict(self) -> Verdict:
        """``fail`` if anything failed, else ``unknown`` if anything could not be told."""
        return verdict_of(finding.status for finding in self.findings)

    def exit_code(self, *, strict: bool = False) -> int:
        """Return the process exit status of ``check``; ``strict`` counts a warning as a failure."""
        counts = self.summary
        if counts["fail"] or (strict and counts["warn"]):
            return EXIT_FAILED
        return EXIT_UNKNOWN if counts["unknown"] else EXIT_OK

    def to_json(self) -> dict[str, Any]:
        """Return the report in the schema ``dsv4-doctor/report/1``."""
        return {
            "schema": SCHEMA,
            "tool": {"name": "dsv4-doctor", "version": self.tool_version},
            "host": {"name": self.hostname, "taken_at": self.taken_at},
            "target": as_data(self.target),
            "verdict": self.verdict,
            "summary": self.summary,
            "notes": list(self.notes),
            "findings": as_data(self.findings),
        }


def verdict_of(statuses: Iterable[Status]) -> Verdict:
    """Return ``fail`` if anything failed, else ``unknown`` if anything could not be told."""
    found = set(statuses)
    if "fail" in found:
        return "fail"
    return "unknown" if "unknown" in found else "pass"
