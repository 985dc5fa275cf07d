"""A report as SARIF 2.1.0, for code scanning and the viewers that read it.

What could not be told is a result of kind ``open``, what does not apply one of ``notApplicable``.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from dsv4_doctor.checks.registry import all_checks
from dsv4_doctor.formats.details import details
from dsv4_doctor.formats.plain import printable
from dsv4_doctor.formats.sarif_text import SCHEMA, message

if TYPE_CHECKING:
    from dsv4_doctor.checks.registry import Check
    from dsv4_doctor.report import Finding, Report, Status

# Kind and level of SARIF 2.1.0, sections 3.27.9 and 3.27.10: only a failure has a level.
_KINDS: dict[Status, tuple[str, str]] = {
    "fail": ("fail", "error"),
    "warn": ("fail", "warning"),
    "unknown": ("open", "none"),
    "pass": ("pass", "none"),
    "skip": ("notApplicable", "none"),
}


def render(report: Report) -> str:
    """Return the report as indented JSON that ends with a line feed."""
    ids = list(dict.fromkeys(finding.id for finding in report.findings))
    checks = {name: check for check in all_checks() for name in (check.id, *check.findings)}
    driver = {
        "name": "dsv4-doctor",
        "version": report.tool_version,
        "rules": [_rule(name, checks.get(name)) for name in ids],
    }
    invocation = {
        "executionSuccessful": True,
        "machine": printable(report.hostname),
        "toolExecutionNotifications": [
            {"level": "note", "message": message(note)} for note in report.notes
        ],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "results": [_result(each, ids.index(each.id), report) for each in report.findings],
        "properties": {"target": report.to_json()["target"], "verdict": report.verdict},
    }
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _rule(name: str, check: Check | None) -> dict[str, Any]:
    rule: dict[str, Any] = {"id": printable(name)}
    if check is None:
        return rule
    decides = (check.summary or check.title).partition("\n\n")[0]
    rule["shortDescription"] = message(check.title)
    rule["fullDescription"] = message(" ".join(decides.split()))
    if check.fix:
        rule["help"] = message(check.fix)
    return rule


def _result(finding: Finding, index: int, report: Report) -> dict[str, Any]:
    kind, level = _KINDS[finding.status]
    lines = [finding.title, *(f"{label}: {text}" for label, text in details(finding))]
    result = {
        "ruleId": printable(finding.id),
        "ruleIndex": index,
        "kind": kind,
        "level": level,
        "message": message("\n".join(lines)),
        "locations": [_location(finding, report)],
        "properties": {"status": finding.status},
    }
    if finding.source:
        result["relatedLocations"] = [
            {"message": message(f"{each.citation}: {each.requirement}")} for each in finding.source
        ]
    return result


def _location(finding: Finding, report: Report) -> dict[str, Any]:
    """Return where it was read: the machine, and the first evidence that is a file."""
    host = printable(report.hostname) or "this machine"
    location: dict[str, Any] = {"logicalLocations": [{"name": host, "kind": "resource"}]}
    places = (each.where for each in finding.evidence)
    # With a blank in it, it is a command line.
    path = next((each for each in places if each.startswith("/") and " " not in each), None)
    if path is not None:
        uri = "file://" + quote(printable(path))
        location["physicalLocation"] = {"artifactLocation": {"uri": uri}}
    return location
