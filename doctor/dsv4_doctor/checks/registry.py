"""Registering checks, and running them over one snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from dsv4_doctor.lazy_dataclass import dataclass
from dsv4_doctor.report import Evidence, Finding

if TYPE_CHECKING:
    from dsv4_doctor.checks.choice import Choice
    from dsv4_doctor.knowledge.model import Release
    from dsv4_doctor.snapshot import Snapshot
    from dsv4_doctor.target import Target

T = TypeVar("T")

# In the order in which a report shows the areas.
MODULES: tuple[str, ...] = (
    "driver",
    "gpu",
    "rebar",
    "toolkit",
    "cuda_home",
    "compiler",
    "build_tools",
    "python_environment",
    "torch_build",
    "flash_attention",
    "arch",
    "features",
    "profile",
)


@dataclass(frozen=True)
class Context:
    """What a check may look at: facts, target, and what the target's release needs."""

    snapshot: Snapshot
    target: Target
    release: Release

    def need(self, section: str, value: T | None) -> T:
        """Return a section of the snapshot.

        Raises:
            NotKnownError: Its probe did not answer, or the snapshot was made without it.
        """
        if value is not None:
            return value
        run = self.snapshot.probe(section)
        if run is None:
            raise NotKnownError(section, "the snapshot does not contain it", 0.0)
        raise NotKnownError(section, run.error or "the probe gave no facts", run.seconds)


class NotKnownError(Exception):
    """A check cannot be decided because its facts are missing."""

    def __init__(self, section: str, reason: str, seconds: float) -> None:
        super().__init__(f"{section}: {reason}")
        self.section = section
        self.reason = reason
        self.seconds = seconds


Rule: TypeAlias = Callable[[Context], Iterable[Finding]]
# A function, because names in some ids come from knowledge files that a plain run does not read.
Ids: TypeAlias = Callable[[], tuple[str, ...]]


@dataclass(frozen=True)
class Check:
    """One registered check.

    Attributes:
        id: The id of its findings, or their common prefix when it gives several.
        title: What it looks at, for the findings that it cannot decide.
        reads: Sections of the snapshot that it looks at.
        reports: Public reports that it would have prevented: ``owner/repository#number``, or the
            address of a page.
        fix: What usually mends it, in a sentence; a finding's remedy is the exact one.
        gives: Returns the ids of its findings; for most checks that is its own.
    """

    id: str
    title: str
    rule: Rule
    reads: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()
    fix: str = ""
    gives: Ids | None = None

    @property
    def findings(self) -> tuple[str, ...]:
        """The ids of all findings that it can give."""
        return self.gives() if self.gives is not None else (self.id,)


_CHECKS: dict[str, Check] = {}


def check(  # noqa: PLR0913 - one argument for each thing that is told of a check
    identifier: str,
    title: str,
    *,
    reads: tuple[str, ...] = (),
    reports: tuple[str, ...] = (),
    fix: str = "",
    gives: Ids | None = None,
) -> Callable[[Rule], Rule]:
    """Register a check under its id, with what ``checks show`` tells of it.

    The docstring of the rule says in its first paragraph what it decides, and then why it matters.

    Raises:
        ValueError: The id is taken, or is not ``area.subject.rule``.
    """

    def register(rule: Rule) -> Rule:
        if identifier in _CHECKS or identifier.count(".") != 2:
            msg = f"check id {identifier!r} is taken or not of the form area.subject.rule"
            raise ValueError(msg)
        _CHECKS[identifier] = Check(identifier, title, rule, reads, reports, fix, gives)
        return rule

    return register


def all_checks() -> tuple[Check, ...]:
    """Return every check, in the order of a report."""
    for module in MODULES:
        import_module(f"dsv4_doctor.checks.{module}")
    return tuple(_CHECKS.values())


def run_checks(
    context: Context, checks: Iterable[Check] | None = None, choice: Choice | None = None
) -> tuple[Finding, ...]:
    """Run the checks and return their findings.

    A check whose facts are missing gives one ``unknown`` finding that names the probe.

    Args:
        checks: Those to run, all of them without.
        choice: What is asked for of these; a check of which nothing is asked for is not run.
    """
    chosen = all_checks() if checks is None else checks
    if choice is None:
        return tuple(finding for each in chosen for finding in _findings(each, context))
    return tuple(
        finding
        for each in chosen
        if choice.runs(each)
        for finding in _findings(each, context)
        if choice.keeps(each, finding.id)
    )


def _findings(each: Check, context: Context) -> Iterator[Finding]:
    try:
        yield from each.rule(context)
    except NotKnownError as missing:
        took = f" after {missing.seconds:.1f} s" if missing.seconds else ""
        yield Finding(
            id=each.id,
            status="unknown",
            title=f"{each.title}: could not be told",
            found=f"probe {missing.section}: {missing.reason}",
            evidence=(Evidence(missing.reason, f"probe {missing.section}{took}"),),
        )
