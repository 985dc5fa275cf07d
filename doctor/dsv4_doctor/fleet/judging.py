"""From one document to one host: a stored report as it is, a snapshot against a target."""

from __future__ import annotations

import marshal
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from dsv4_doctor.checks.registry import Check, Context, all_checks, run_checks
from dsv4_doctor.codec import check_schema, section
from dsv4_doctor.errors import InputError
from dsv4_doctor.evaluation import applicable
from dsv4_doctor.fleet import drift
from dsv4_doctor.fleet.model import Cause, Host, Refused
from dsv4_doctor.report import SCHEMA as REPORT
from dsv4_doctor.report import STATUSES, verdict_of
from dsv4_doctor.snapshot import ProbeRun, Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsv4_doctor.fleet.documents import Document
    from dsv4_doctor.knowledge.model import Release
    from dsv4_doctor.report import Finding
    from dsv4_doctor.target import Target

# Name and reason of every probe or field that told nothing, or not all.
Untold = tuple[tuple[str, str], ...]

# What is written for a host that gave no facts: {"schema", "host", "reason", "taken_at"}.
ABSENCE = "dsv4-doctor/absence/1"

# Different contents of one section that are kept: equal machines have equal sections.
_KEPT = 4096
# The form of marshal without references between values: equal values have equal bytes. It is used
# inside one process only, as a key that is faster to make than JSON.
_PLAIN = 2
# Answers of checks that are kept; one is a few hundred bytes.
_ANSWERS = 100_000

_NOT_SECTIONS = {"taken_at", "tool_version", "probes", "schema"}
_SECTIONS = tuple(each.name for each in fields(Snapshot) if each.name not in _NOT_SECTIONS)


@dataclass
class Judge:
    """Turns documents into hosts.

    Attributes:
        target: What snapshots are held against.
        release: The requirements of its release.
        by_file: Whether hosts are called by their file instead of by what they call themselves.
        anew: Whether the facts in a stored report are judged anew.
    """

    target: Target
    release: Release
    by_file: bool = False
    anew: bool = False
    _checks: tuple[Check, ...] = field(default_factory=all_checks)
    _causes: dict[Cause, Cause] = field(default_factory=dict)
    _sections: dict[tuple[str, bytes], Any] = field(default_factory=dict)
    _answers: dict[tuple[object, ...], tuple[tuple[object, ...], tuple[Cause, ...]]] = field(
        default_factory=dict
    )

    def host(self, document: Document) -> Host | Refused:
        """Return the host that a document tells of, or why it tells of none."""
        if document.data is None:
            return Refused(document.origin, document.reason)
        try:
            return self._understood(document, document.data)
        except InputError as error:
            return Refused(document.origin, str(error).removeprefix(f"{document.origin}: "))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            return Refused(document.origin, f"not a valid document: {error}")

    def _understood(self, document: Document, data: dict[str, Any]) -> Host:
        schema = data.get("schema")
        if schema == ABSENCE:
            return self._absent(document, data)
        if schema == REPORT and not self.anew:
            return self._stored(document, data)
        if schema == REPORT and "snapshot" not in data:
            msg = "a report without its facts cannot be judged anew: `check --facts` keeps them"
            raise InputError(msg)
        snapshot = data["snapshot"] if schema == REPORT else data
        check_schema(snapshot, document.origin)
        return self._judged(document, snapshot)

    def _judged(self, document: Document, data: dict[str, Any]) -> Host:
        snapshot = self._snapshot(data)
        context = Context(snapshot, self.target, self.release)
        checks = applicable(snapshot, self._checks)
        # Why something is not known decides as the facts do.
        untold = tuple((run.name, run.error) for run in snapshot.probes if run.error)
        causes = tuple(cause for each in checks for cause in self._found(each, context, untold))
        return Host(
            name=self._name(document, snapshot.host.hostname if snapshot.host else ""),
            taken_at=snapshot.taken_at,
            origin=document.origin,
            verdict=verdict_of(cause.status for cause in causes),
            causes=causes,
            facts=drift.facts(snapshot),
        )

    def _snapshot(self, data: dict[str, Any]) -> Snapshot:
        """Return a snapshot whose sections are shared with equal ones of other machines."""
        sections = {
            name: self._section(name, data[name])
            for name in _SECTIONS
            if data.get(name) is not None
        }
        probes = tuple(
            ProbeRun(_text(each["name"]), float(each["seconds"]), each.get("error"))
            for each in data["probes"]
        )
        return Snapshot(_text(data["taken_at"]), _text(data["tool_version"]), probes, **sections)

    def _section(self, name: str, data: Any) -> Any:
        key = (name, marshal.dumps(data, _PLAIN))
        known = self._sections.get(key)
        if known is None:
            known = section(name, data)
            if len(self._sections) >= _KEPT:
                self._sections.clear()
            self._sections[key] = known
        return known

    def _found(self, check: Check, context: Context, untold: Untold) -> tuple[Cause, ...]:
        """Return what a check finds; machines that tell it the same share one answer."""
        sections = tuple(getattr(context.snapshot, name) for name in check.reads)
        key = (check.id, untold, *map(id, sections))
        known = self._answers.get(key)
        if known is None:
            found = tuple(self._cause(each) for each in run_checks(context, (check,)))
            # A section that differs on every machine would fill the memory for nothing.
            if len(self._answers) >= _ANSWERS:
                return found
            # The sections are kept with the answer, so that no other can have their identity.
            known = self._answers[key] = (sections, found)
        return known[1]

    def _cause(self, finding: Finding) -> Cause:
        if finding.status in {"pass", "skip"}:
            # Nobody acts on these, and their texts differ from host to host.
            return self._kept(Cause(finding.id, finding.status))
        remedy = finding.remedy
        return self._kept(
            Cause(
                finding.id,
                finding.status,
                finding.title,
                finding.found,
                finding.expected,
                remedy.text if remedy else "",
                tuple(each.shell() for each in remedy.commands) if remedy else (),
                tuple(f"{each.citation}: {each.requirement}" for each in finding.source),
            )
        )

    def _stored(self, document: Document, data: dict[str, Any]) -> Host:
        causes = tuple(self._kept(_stored_cause(each)) for each in data["findings"])
        statuses = {cause.status for cause in causes}
        return Host(
            name=self._name(document, _text(data["host"]["name"])),
            taken_at=_text(data["host"]["taken_at"]),
            origin=document.origin,
            verdict="fail"
            if "fail" in statuses
            else "unknown"
            if "unknown" in statuses
            else "pass",
            causes=causes,
            facts=drift.facts(self._snapshot(data["snapshot"])) if "snapshot" in data else (),
        )

    def _absent(self, document: Document, data: dict[str, Any]) -> Host:
        return Host(
            name=self._name(document, _text(data["host"])),
            taken_at=_text(data.get("taken_at", "")),
            origin=document.origin,
            verdict="fail",
            problem=_text(data["reason"]) or "gave no facts",
        )

    def _name(self, document: Document, own: str) -> str:
        if self.by_file and document.stem:
            return document.stem
        return own or document.stem or document.origin

    def _kept(self, cause: Cause) -> Cause:
        return self._causes.setdefault(cause, cause)


def _stored_cause(data: dict[str, Any]) -> Cause:
    if data["status"] not in STATUSES:
        msg = f"status {data['status']!r}"
        raise ValueError(msg)
    if data["status"] in {"pass", "skip"}:
        return Cause(_text(data["id"]), data["status"])
    remedy = data.get("remedy") or {}
    return Cause(
        id=_text(data["id"]),
        status=data["status"],
        title=_text(data.get("title", "")),
        found=_text(data.get("found", "")),
        expected=_text(data.get("expected", "")),
        remedy=_text(remedy.get("text", "")),
        commands=tuple(_shell(each) for each in remedy.get("commands", ())),
        sources=tuple(_cited(each) for each in data.get("source", ())),
    )


def _shell(data: dict[str, Any]) -> str:
    from dsv4_doctor.report import Command  # noqa: PLC0415 - a stored report only

    env = data.get("env")
    argv = tuple(_text(each) for each in data.get("argv", ()))
    variables = {_text(name): _text(value) for name, value in env.items()} if env else None
    unset = tuple(_text(each) for each in data.get("unset", ()))
    return Command(argv, variables, root=bool(data.get("root")), unset=unset).shell()


def _cited(data: dict[str, Any]) -> str:
    from dsv4_doctor.citation import Source  # noqa: PLC0415 - a stored report only

    known = {each.name for each in fields(Source)}
    source = Source(**{key: value for key, value in data.items() if key in known})
    return f"{source.citation}: {source.requirement}"


def _text(value: Any) -> str:
    if not isinstance(value, str):
        msg = f"{value!r} is no text"
        raise TypeError(msg)
    return value


def split(results: Iterable[Host | Refused]) -> tuple[list[Host], list[Refused]]:
    """Separate the hosts from what could not be read."""
    hosts: list[Host] = []
    refused: list[Refused] = []
    for each in results:
        if isinstance(each, Host):
            hosts.append(each)
        else:
            refused.append(each)
    return hosts, refused
