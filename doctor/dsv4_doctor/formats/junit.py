"""A report as JUnit XML, one test suite an area, for what collects test results.

JUnit knows no warning and no "could not be told": a warning is a passed test with text, and with
``strict`` a failed one; what could not be told is an error.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING
from xml.etree import ElementTree as Xml

from dsv4_doctor.formats.details import details
from dsv4_doctor.formats.plain import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsv4_doctor.report import Finding, Report


def render(report: Report, *, strict: bool = False) -> str:
    """Return the report as an XML document that ends with a line feed."""
    areas: dict[str, list[Finding]] = {}
    for finding in report.findings:
        areas.setdefault(finding.id.partition(".")[0], []).append(finding)
    root = Xml.Element("testsuites", name="dsv4-doctor")
    for area, findings in areas.items():
        root.append(_suite(report, area, findings, strict))
    _count(root, root.iter("testsuite"))
    if areas:
        root[0].insert(0, _properties(report))
    Xml.indent(root)
    document = Xml.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{document}\n'


def _suite(report: Report, area: str, findings: Iterable[Finding], strict: bool) -> Xml.Element:
    suite = Xml.Element("testsuite", name=printable(area), hostname=printable(report.hostname))
    suite.set("timestamp", printable(report.taken_at))
    seen: Counter[str] = Counter()
    for finding in findings:
        seen[finding.id] += 1
        # Several findings of one check share its id; a test case needs a name of its own.
        count = f" [{seen[finding.id]}]" if seen[finding.id] > 1 else ""
        suite.append(_case(area, finding, count, strict))
    for key, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(key, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("tests", str(len(suite)))
    return suite


def _case(area: str, finding: Finding, count: str, strict: bool) -> Xml.Element:
    case = Xml.Element("testcase", name=printable(finding.id + count))
    case.set("classname", printable(f"dsv4-doctor.{area}"))
    tags = {"fail": "failure", "unknown": "error", "skip": "skipped"}
    if strict:
        tags["warn"] = "failure"
    tag = tags.get(finding.status)
    if tag is None:
        Xml.SubElement(case, "system-out").text = _text(finding)
        return case
    result = Xml.SubElement(case, tag, type=finding.status, message=printable(finding.title))
    result.text = _text(finding)
    return case


def _text(finding: Finding) -> str:
    lines = [f"{finding.status}: {finding.title}"]
    lines += [f"{label}: {text}" for label, text in details(finding)]
    return printable("\n".join(lines))


def _count(root: Xml.Element, suites: Iterable[Xml.Element]) -> None:
    every = list(suites)
    for key in ("tests", "failures", "errors"):
        root.set(key, str(sum(int(suite.get(key, "0")) for suite in every)))


def _properties(report: Report) -> Xml.Element:
    """Return what the report is about; the schema has properties in a suite only."""
    properties = Xml.Element("properties")
    rows = [
        ("dsv4-doctor", report.tool_version),
        ("vllm", report.target.release),
        ("purpose", report.target.purpose),
        ("archs", ",".join(report.target.archs)),
        ("features", ",".join(report.target.features)),
        ("verdict", report.verdict),
        *(("note", note) for note in report.notes),
    ]
    for name, value in rows:
        Xml.SubElement(properties, "property", name=name, value=printable(value))
    return properties
