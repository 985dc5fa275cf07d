"""What there is to tell of a check: read from its registration, its docstring and its probes."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from dsv4_doctor.probes.registry import PROBES

if TYPE_CHECKING:
    from dsv4_doctor.checks.registry import Check

_ISSUE = re.compile(r"([\w.-]+/[\w.-]+)#(\d+)")


@dataclass(frozen=True)
class Section:
    """One section of the snapshot.

    Attributes:
        what: What its probe reads, empty for one that no probe of this doctor fills.
    """

    name: str
    what: str


@dataclass(frozen=True)
class Entry:
    """Everything that is told of one check.

    Attributes:
        findings: Ids of the findings that it can give.
        reads: Sections of the snapshot that it looks at.
        decides: What it decides, in a sentence or two.
        why: Why that matters.
        reports: Public reports that it would have prevented.
        fix: What usually mends it.
        module: Path of the source below the project's root.
    """

    id: str
    title: str
    findings: tuple[str, ...]
    reads: tuple[Section, ...]
    decides: str
    why: str
    reports: tuple[str, ...]
    fix: str
    module: str

    @property
    def area(self) -> str:
        """The part of the id by which reports are grouped."""
        return self.id.partition(".")[0]


def entry(check: Check) -> Entry:
    """Return everything that is told of a check."""
    decides, why = _parts(check)
    return Entry(
        id=check.id,
        title=check.title,
        findings=check.findings,
        reads=tuple(Section(name, section(name)) for name in check.reads),
        decides=decides,
        why=why,
        reports=check.reports,
        fix=check.fix,
        module=f"doctor/{check.rule.__module__.replace('.', '/')}.py",
    )


def section(name: str) -> str:
    """Return what the probe of a section reads, from the docstring of its module."""
    target = next((each.target for each in PROBES if each.name == name), None)
    if target is None:
        return ""
    text = inspect.cleandoc(import_module(target.partition(":")[0]).__doc__ or "")
    return " ".join(text.partition("\n\n")[0].split()).rstrip(".")


def address(report: str) -> str:
    """Return the address of a report that is written as ``owner/repository#number``."""
    match = _ISSUE.fullmatch(report)
    return f"https://github.com/{match[1]}/issues/{match[2]}" if match else report


def _parts(check: Check) -> tuple[str, str]:
    """Return the first paragraph of the docstring, and the others without the list of ids."""
    text = check.summary.replace("``", "`")
    paragraphs = [" ".join(each.split()) for each in text.split("\n\n")]
    why = [each for each in paragraphs[1:] if not each.startswith("Findings:")]
    return paragraphs[0], "\n\n".join(why)
