"""What lint says as SARIF 2.1.0: for code scanning, which shows it beside the line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from dsv4_doctor import __version__
from dsv4_doctor.formats.plain import printable
from dsv4_doctor.formats.sarif_text import SCHEMA, message

if TYPE_CHECKING:
    from dsv4_doctor.lint.problem import Problem, Status
    from dsv4_doctor.lint.report import LintReport

_KINDS: dict[Status, tuple[str, str]] = {
    "fail": ("fail", "error"),
    "warn": ("fail", "warning"),
    "unknown": ("open", "none"),
}


def render(report: LintReport) -> str:
    """Return the report as indented JSON that ends with a line feed."""
    problems = [each for server in report.servers for each in server.problems]
    ids = list(dict.fromkeys(each.id for each in problems))
    run = {
        "tool": {
            "driver": {
                "name": "dsv4-doctor",
                "version": __version__,
                "rules": [{"id": each} for each in ids],
            }
        },
        "results": [_result(each, ids.index(each.id), report.file) for each in problems],
        "properties": {"verdict": report.verdict},
    }
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _result(problem: Problem, index: int, file: str) -> dict[str, Any]:
    kind, level = _KINDS[problem.status]
    lines = [problem.title, *(f"do: {each}" for each in (problem.do,) if each)]
    result: dict[str, Any] = {
        "ruleId": problem.id,
        "ruleIndex": index,
        "kind": kind,
        "level": level,
        "message": message("\n".join(lines)),
        "locations": [_location(problem, file)],
    }
    if problem.source:
        result["relatedLocations"] = [
            {"message": message(f"{each.citation}: {each.requirement}")} for each in problem.source
        ]
    return result


def _location(problem: Problem, file: str) -> dict[str, Any]:
    location: dict[str, Any] = {
        "logicalLocations": [{"name": printable(problem.subject) or "command", "kind": "resource"}]
    }
    if file and file != "-":
        physical: dict[str, Any] = {"artifactLocation": {"uri": quote(printable(file))}}
        if problem.line:
            physical["region"] = {"startLine": problem.line}
        location["physicalLocation"] = physical
    return location
