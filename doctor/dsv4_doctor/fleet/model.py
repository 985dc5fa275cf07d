"""One picture of a fleet, as plain frozen data."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dsv4_doctor.errors import EXIT_FAILED, EXIT_OK, EXIT_UNKNOWN

if TYPE_CHECKING:
    from dsv4_doctor.report import Status, Verdict

SCHEMA = "dsv4-doctor/fleet/1"


@dataclass(frozen=True)
class Cause:
    """A finding as a fleet keeps it: shared by all hosts that have the same.

    Attributes:
        commands: Lines for a POSIX shell.
        sources: Where the requirement stands.
    """

    id: str
    status: Status
    title: str = ""
    found: str = ""
    expected: str = ""
    remedy: str = ""
    commands: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class Host:
    """One host.

    Attributes:
        name: As its document, or its file, calls it.
        taken_at: When its facts were read, ISO 8601; empty when it gave none.
        origin: File that it was read from.
        verdict: As in its report; ``fail`` for one that gave none.
        causes: Every finding.
        facts: What drift is looked for in, by the name of the fact.
        problem: Why there is no report: unreachable, no answer in time, no Python, ….
    """

    name: str
    taken_at: str
    origin: str
    verdict: Verdict
    causes: tuple[Cause, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    problem: str = ""

    def count(self, status: Status) -> int:
        """How many findings have this status."""
        return sum(cause.status == status for cause in self.causes)


@dataclass(frozen=True)
class Variant:
    """How one cause looks on some hosts.

    Attributes:
        hosts: Their names, sorted.
    """

    found: str
    expected: str
    hosts: tuple[str, ...]


@dataclass(frozen=True)
class Group:
    """Equal findings of several hosts.

    Attributes:
        title: That of the variant with the most hosts.
        variants: Those with the most hosts first.
    """

    id: str
    status: Status
    title: str
    remedy: str
    commands: tuple[str, ...]
    sources: tuple[str, ...]
    variants: tuple[Variant, ...]

    @property
    def hosts(self) -> tuple[str, ...]:
        """All hosts, sorted."""
        return tuple(sorted({name for each in self.variants for name in each.hosts}))


@dataclass(frozen=True)
class Outliers:
    """Hosts that have another value of a fact than most, or than the baseline."""

    value: str
    hosts: tuple[str, ...]


@dataclass(frozen=True)
class Drift:
    """One fact over the fleet.

    Attributes:
        expected: The baseline's value, else that of most hosts.
        count: Hosts that have it.
        total: Hosts that tell the fact.
        outliers: Other values, those with the most hosts first.
    """

    fact: str
    expected: str
    count: int
    total: int
    outliers: tuple[Outliers, ...]


@dataclass(frozen=True)
class Refused:
    """A file that is not what it should be.

    Attributes:
        reason: What is wrong with it.
    """

    origin: str
    reason: str


@dataclass(frozen=True)
class Duplicate:
    """An older document of a host that gave a newer one."""

    host: str
    origin: str
    kept: str


@dataclass(frozen=True)
class Changes:
    """What is different from an earlier picture; names of hosts, sorted.

    Attributes:
        failing: Failed now and did not then.
        recovered: Failed then and does not now.
        appeared: Not in the earlier picture.
        vanished: Only in the earlier picture.
    """

    since: str
    failing: tuple[str, ...]
    recovered: tuple[str, ...]
    appeared: tuple[str, ...]
    vanished: tuple[str, ...]


@dataclass(frozen=True)
class Fleet:
    """The picture.

    Attributes:
        made_at: When the newest facts were read.
        target: What the hosts were held against, in words; empty when each report had its own.
        groups: What somebody has to act on: failures first, those of the most hosts first.
        missing: Expected hosts of which there is no document.
    """

    made_at: str
    target: str
    hosts: tuple[Host, ...]
    groups: tuple[Group, ...]
    drift: tuple[Drift, ...]
    missing: tuple[str, ...] = ()
    refused: tuple[Refused, ...] = ()
    duplicates: tuple[Duplicate, ...] = ()
    changes: Changes | None = None

    @property
    def verdict(self) -> Verdict:
        """``fail`` if a host failed or is missing, else ``unknown`` if anything is not told."""
        verdicts = {host.verdict for host in self.hosts}
        if "fail" in verdicts or self.missing:
            return "fail"
        return "unknown" if "unknown" in verdicts or self.refused or not self.hosts else "pass"

    @property
    def summary(self) -> dict[str, int]:
        """How many hosts, documents and causes there are of each kind."""
        verdicts = Counter(host.verdict for host in self.hosts)
        return {
            "hosts": len(self.hosts),
            "pass": verdicts["pass"],
            "fail": verdicts["fail"],
            "unknown": verdicts["unknown"],
            "without report": sum(bool(host.problem) for host in self.hosts),
            "missing": len(self.missing),
            "not read": len(self.refused),
            "duplicates": len(self.duplicates),
        }

    @property
    def sick(self) -> tuple[str, ...]:
        """Hosts to keep work from: failed, not told, or missing; sorted."""
        names = {host.name for host in self.hosts if host.verdict != "pass"}
        return tuple(sorted(names | set(self.missing)))

    @property
    def healthy(self) -> tuple[str, ...]:
        """All others, sorted."""
        return tuple(sorted(host.name for host in self.hosts if host.verdict == "pass"))

    def exit_code(self, *, strict: bool = False) -> int:
        """Return the exit status of ``fleet report``: that of ``check`` over all hosts."""
        warned = any(group.status == "warn" for group in self.groups)
        if self.verdict == "fail" or (strict and warned):
            return EXIT_FAILED
        return EXIT_UNKNOWN if self.verdict == "unknown" else EXIT_OK


# Statuses that somebody has to act on, worst first.
ACTED_ON: tuple[Status, ...] = ("fail", "unknown", "warn")
