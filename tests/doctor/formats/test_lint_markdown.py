"""What lint says as Markdown: the same document whatever stands in the command."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.formats.reports import hostile
from tests.doctor.formats.test_markdown import PARSER, TEXT, html, inline, structure

from dsv4_doctor.citation import Source
from dsv4_doctor.formats.lint_markdown import render
from dsv4_doctor.formats.markdown_text import fenced
from dsv4_doctor.formats.plain import printable
from dsv4_doctor.lint.linting import Server
from dsv4_doctor.lint.problem import Problem
from dsv4_doctor.lint.report import LintReport


def _problem(status: str, text: str) -> Problem:
    return Problem(
        id=f"lint.flag.{status}",
        status=status,  # type: ignore[arg-type]
        subject=text,
        title=f"title {text}",
        found=text,
        expected=text,
        do=f"do {text}",
        line=3,
        source=(Source(text, "vllm", "0.24.0", text, 3),),
    )


def _report(text: str = "text") -> LintReport:
    # The worst comes last: the document has its own order.
    problems = tuple(_problem(each, text) for each in ("unknown", "warn", "fail"))
    server = Server(text, 2, "0.24.0", text, 1, 2, problems, text, ("lint.flag.fail",), (text,))
    return LintReport(text, (server,), (text,))


def test_what_is_wrong_comes_first_and_the_command_last() -> None:
    text = render(_report())
    headings = ("something is wrong", "# Failed", "# Worth a change", "# Could not be told")
    places = [text.index(each) for each in (*headings, "Corrected, 1 of 3:", "```sh\ntext\n```")]
    assert places == sorted(places)
    assert "- found: `text` (text:3)" in text
    assert not html(text)


def test_nothing_wrong_has_no_heading_and_no_command() -> None:
    server = Server("", 0, "0.24.0", "m", 1, 0, (), "vllm serve m", ())
    text = render(LintReport("", (server,)))
    assert "nothing is wrong" in text
    assert structure(text) == structure("### a\n\nb\n")


@given(hostile.filter(str.strip))
def test_hostile_text_changes_nothing_of_the_document(text: str) -> None:
    rendered = render(_report(text))
    assert structure(rendered) == structure(render(_report()))
    assert inline(rendered) <= TEXT
    assert not html(rendered)


@given(hostile | st.text(alphabet="`~ a\n", max_size=12))
def test_a_block_is_shown_as_it_is(text: str) -> None:
    (block,) = PARSER.parse(fenced(text, "sh"))
    assert (block.type, block.content) == ("fence", f"{printable(text)}\n")
