"""Reports for the tests of formats: one of everything, and ones with text that means harm."""

from __future__ import annotations

from hypothesis import strategies as st

from dsv4_doctor.citation import Source
from dsv4_doctor.report import STATUSES, Command, Evidence, Finding, Remedy, Report
from dsv4_doctor.target import Target

TARGET = Target("0.24.0", ("sm_90",), ("fa3",), "build")
WHEN = "2026-11-29T12:00:00+00:00"

# What ends a cell, a tag, a comment, a string or a line, or calls for somebody.
_TOKENS = (
    "|", "`", "```", "<script>", "</details>", "]]>", "-->", "&amp;", "\x00", "\x1b[2J", "\n", "\r",
    "\u2028", "\ud800", "\udc80", "\ufffe", "{0}", "}", "[x](http://y)", "](", "@user", "#1",
    "$(id)", "'", '"', "\\", "\\n", "    ", "- ", "1. ", "# ", "===", "***", "~~~", "!", "\x85",
)  # fmt: skip

hostile = st.lists(st.sampled_from(_TOKENS) | st.characters(exclude_categories=()), max_size=8).map(
    "".join
)


def finding(status: str, text: str, identifier: str = "") -> Finding:
    """Return a finding that has the text wherever a machine's text can be."""
    return Finding(
        id=identifier or f"cuda.home.{status}",
        status=status,  # type: ignore[arg-type]
        title=f"title {text}",
        found=text,
        expected=text,
        evidence=(Evidence(text, text), Evidence(text, f"/proc/{text}")),
        source=(Source(text, "vllm", "0.24.0", text, 3),),
        remedy=Remedy(f"do {text}", (Command(argv=("echo", text)), Command(env={"A": text}))),
    )


def report(text: str = "text", *statuses: str, when: str = WHEN) -> Report:
    """Return a report with a finding of each status that has the text everywhere."""
    findings = tuple(finding(each, text) for each in statuses or STATUSES)
    return Report("1.0", text, when, TARGET, findings, (text,))
