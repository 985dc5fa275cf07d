#!/usr/bin/env python3
"""Writes the JSON Schemas of all documents from the dataclasses that define them.

``--check`` writes nothing and fails when a committed schema is not what would be written.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from dsv4_build.caching.statistics import Statistics
from dsv4_build.image import making
from dsv4_build.reporting import diary
from dsv4_build.reporting import model as account
from dsv4_build.sources import lock as locks
from dsv4_doctor import report, snapshot
from dsv4_doctor.binary import (
    contents,
    difference,
    families,
    link_problems,
    linkage,
    package,
    verdicts,
)
from dsv4_doctor.binary.requirements import Decision
from dsv4_doctor.binary.sizes import ArchSize, FamilySize
from dsv4_doctor.checks import catalogue
from dsv4_doctor.fleet import model as fleet
from dsv4_doctor.formats import checks_json, lint_json
from dsv4_doctor.images import claims, image
from dsv4_doctor.launch import parameters
from dsv4_doctor.launch import plan as launch
from dsv4_doctor.lint import report as lint
from dsv4_doctor.logs import diagnosis
from dsv4_doctor.target import Target
from dsv4_doctor.watch import report as watch

DIALECT = "https://json-schema.org/draft/2020-12/schema"
PLACE = Path(__file__).parents[1] / "doctor" / "dsv4_doctor" / "schemas"


def _of(kind: Any) -> dict[str, Any]:
    return TypeAdapter(kind).json_schema(ref_template="#/$defs/{model}", mode="serialization")


def _finish(schema: dict[str, Any], identifier: str, title: str) -> dict[str, Any]:
    properties = {"schema": {"const": identifier}, **schema.pop("properties")}
    required = sorted({"schema", *schema.pop("required")})
    return {
        "$schema": DIALECT,
        "title": title,
        "type": "object",
        "properties": properties,
        "required": required,
        # A later doctor may add to a schema; a reader of this one must not mind.
        "additionalProperties": True,
        "$defs": schema.pop("$defs"),
    }


def snapshot_schema() -> dict[str, Any]:
    """Return the schema of a snapshot."""
    schema = _of(snapshot.Snapshot)
    del schema["properties"]["schema"]
    return _finish(schema, snapshot.SCHEMA, "The facts of one machine")


def report_schema() -> dict[str, Any]:
    """Return the schema of a report."""
    findings = _of(tuple[report.Finding, ...])
    target = _of(Target)
    definitions = {**findings.pop("$defs"), **target.pop("$defs", {}), "Target": target}
    text = {"type": "string"}
    named = {
        "tool": ("name", "version"),
        "host": ("name", "taken_at"),
    }
    properties: dict[str, Any] = {
        key: {
            "type": "object",
            "properties": dict.fromkeys(fields, text),
            "required": list(fields),
        }
        for key, fields in named.items()
    }
    properties |= {
        "target": {"$ref": "#/$defs/Target"},
        "verdict": {"enum": ["pass", "fail", "unknown"]},
        "summary": {
            "type": "object",
            "properties": {status: {"type": "integer", "minimum": 0} for status in report.STATUSES},
            "required": list(report.STATUSES),
        },
        "notes": {"type": "array", "items": text},
        "findings": findings,
    }
    schema = {"properties": properties, "required": list(properties), "$defs": definitions}
    return _finish(schema, report.SCHEMA, "What the doctor says of one machine")


# What the annotations of the inspection's parts name, which they import for type checking only.
_INSPECTION_NAMES: dict[str, Any] = {
    each.__name__: each
    for each in (
        *(families.FamilyEvidence, verdicts.GpuVerdict, linkage.Linkage, package.Package),
        *(link_problems.LinkageSummary, link_problems.Problem, claims.Claim),
    )
}


def inspection_schema() -> dict[str, Any]:
    """Return the schema of an inspection."""
    for module in (contents, link_problems, image):
        vars(module).update(_INSPECTION_NAMES)
    schema = _of(contents.Inspection)
    lists = {
        "decisions": tuple[Decision, ...],
        "by_arch": tuple[ArchSize, ...],
        "by_family": tuple[FamilySize, ...],
        "image": image.ImageSummary,
    }
    for key, kind in lists.items():
        part = _of(kind)
        schema["$defs"].update(part.pop("$defs"))
        schema["properties"][key] = part
    schema["properties"] = {"tool": _TOOL, **schema["properties"]}
    schema["required"] = [*schema["properties"].keys() - {"by_arch", "by_family", "image"}]
    return _finish(schema, contents.SCHEMA, "What is inside a binary")


def difference_schema() -> dict[str, Any]:
    """Return the schema of a difference."""
    schema = _of(difference.Difference)
    schema["properties"] = {"tool": _TOOL, **schema["properties"]}
    schema["required"] = list(schema["properties"])
    return _finish(schema, difference.SCHEMA, "What differs between two binaries")


def diagnosis_schema() -> dict[str, Any]:
    """Return the schema of a diagnosis."""
    schema = _of(diagnosis.Diagnosis)
    verdict = {"enum": ["named", "unknown"]}
    schema["properties"] = {"tool": _TOOL, "verdict": verdict, **schema["properties"]}
    schema["required"] = list(schema["properties"])
    return _finish(schema, diagnosis.SCHEMA, "What is said of a log")


def lint_schema() -> dict[str, Any]:
    """Return the schema of what lint says."""
    schema = _of(lint.LintReport)
    verdict = {"enum": ["pass", "wrong"]}
    schema["properties"] = {"tool": _TOOL, "verdict": verdict, **schema["properties"]}
    schema["required"] = list(schema["properties"])
    return _finish(schema, lint_json.SCHEMA, "What is wrong with the start of a server")


def watch_schema() -> dict[str, Any]:
    """Return the schema of one look of a watch."""
    schema = _of(watch.WatchReport)
    schema["properties"] = {"tool": _TOOL, **schema["properties"]}
    schema["required"] = list(schema["properties"])
    return _finish(schema, watch.SCHEMA, "One look at a running server and its GPUs")


def checks_schema() -> dict[str, Any]:
    """Return the schema of the list of checks."""
    entries = _of(tuple[catalogue.Entry, ...])
    schema = {
        "$defs": entries.pop("$defs"),
        "properties": {"tool": _TOOL, "checks": entries},
        "required": ["tool", "checks"],
    }
    return _finish(schema, checks_json.SCHEMA, "What the doctor checks")


def launch_schema() -> dict[str, Any]:
    """Return the schema of a plan of a start."""
    vars(launch).update(Parameter=parameters.Parameter, LeftOut=parameters.LeftOut)
    schema = _of(launch.Plan)
    schema["properties"] = {"tool": _TOOL, **schema["properties"]}
    schema["required"] = list(schema["properties"])
    return _finish(schema, launch.SCHEMA, "How to start a model, and what fits")


_TOOL = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "version": {"type": "string"}},
    "required": ["name", "version"],
}


def fleet_schema() -> dict[str, Any]:
    """Return the schema of a fleet's picture."""
    vars(fleet).update(Status=report.Status, Verdict=report.Verdict)
    text = {"type": "string"}
    number = {"type": "integer", "minimum": 0}
    names = {"type": "array", "items": text}
    statuses = ("fail", "unknown", "warn")
    host = {
        **dict.fromkeys(("name", "taken_at", "origin", "problem"), text),
        "verdict": {"enum": ["pass", "fail", "unknown"]},
        "summary": _closed(dict.fromkeys(report.STATUSES, number)),
        "findings": _closed(dict.fromkeys(statuses, names)),
        "facts": {"type": "object", "additionalProperties": text},
    }
    properties: dict[str, Any] = {
        "tool": _TOOL,
        **dict.fromkeys(("made_at", "target"), text),
        "verdict": {"enum": ["pass", "fail", "unknown"]},
        "summary": {"type": "object", "additionalProperties": number},
        "missing": names,
        "hosts": {"type": "array", "items": _closed(host)},
    }
    definitions: dict[str, Any] = {}
    for key, kind in (
        ("groups", tuple[fleet.Group, ...]),
        ("drift", tuple[fleet.Drift, ...]),
        ("refused", tuple[fleet.Refused, ...]),
        ("duplicates", tuple[fleet.Duplicate, ...]),
        ("changes", fleet.Changes | None),
    ):
        part = _of(kind)
        definitions.update(part.pop("$defs"))
        properties[key] = part
    definitions["Group"]["properties"]["hosts"] = number
    definitions["Group"]["required"].append("hosts")
    schema = {"properties": properties, "required": list(properties), "$defs": definitions}
    return _finish(schema, fleet.SCHEMA, "Many machines in one picture")


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def build_report_schema() -> dict[str, Any]:
    """Return the schema of the account of a build."""
    names = {each.__name__: each for each in (Statistics, diary.Moment)}
    vars(account).update(names, Activity=diary.Activity)
    schema = _of(account.BuildReport)
    result = {"type": ["object", "null"], "description": "dsv4-doctor/built/1, once it is built"}
    schema["properties"] = {"tool": _TOOL, **schema["properties"], "result": result}
    schema["required"] = list(schema["properties"])
    return _finish(schema, account.SCHEMA, "How a build went")


def image_schema() -> dict[str, Any]:
    """Return the schema of an image that was made."""
    vars(image).update(Claim=claims.Claim)
    summary = _of(image.ImageSummary)
    definitions = summary.pop("$defs")
    text = {"type": "string"}
    again = "Whether a second build had the same digest, null when none was made"
    properties: dict[str, Any] = {
        "output": {**text, "description": "Where it is: its kind, a colon and its place"},
        "engine": {**text, "description": "What built it"},
        "wheel": _closed(dict.fromkeys(("path", "sha256"), text)),
        "image": summary,
        "reproduced": {"type": ["boolean", "null"], "description": again},
        "pushed": {**text, "description": "Digest that the registry has, empty for none"},
        "sbom": {**text, "description": "File of the bill of materials, empty for none"},
        "notes": {"type": "array", "items": text},
    }
    schema = {"properties": properties, "required": list(properties), "$defs": definitions}
    return _finish(schema, making.SCHEMA, "An image that was made, and what of its labels is true")


def lock_schema() -> dict[str, Any]:
    """Return the schema of the lock of a build."""
    return _finish(_of(locks.Lock), locks.SCHEMA, "What the result of a build depends on")


def main(arguments: list[str]) -> int:
    """Write or check all files; the exit status is 1 when a check fails."""
    status = 0
    schemas = {
        "snapshot-1": snapshot_schema(),
        "report-1": report_schema(),
        "inspection-1": inspection_schema(),
        "inspection-diff-1": difference_schema(),
        "diagnosis-1": diagnosis_schema(),
        "fleet-1": fleet_schema(),
        "checks-1": checks_schema(),
        "build-report-1": build_report_schema(),
        "lock-1": lock_schema(),
        "lint-1": lint_schema(),
        "watch-1": watch_schema(),
        "launch-1": launch_schema(),
        "image-1": image_schema(),
    }
    for name, schema in schemas.items():
        path = PLACE / f"{name}.json"
        text = json.dumps(schema, indent=2, sort_keys=False) + "\n"
        if "--check" not in arguments:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            print(f"{path}: not up to date; run {Path(__file__).name}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
