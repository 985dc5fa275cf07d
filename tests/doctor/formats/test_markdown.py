"""Markdown as a parser of it sees it: the same document whatever a machine said of itself."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from tests.doctor.formats.reports import hostile, report

from dsv4_doctor.formats.markdown import render
from dsv4_doctor.formats.markdown_text import code, escaped
from dsv4_doctor.formats.plain import one_line

PARSER = MarkdownIt("commonmark").enable("table").enable("strikethrough")
# Tokens that text can be made of.
TEXT = {"text", "text_special", "code_inline", "softbreak"}


def structure(text: str) -> list[str]:
    return [token.type for token in PARSER.parse(text)]


def inline(text: str) -> set[str]:
    return {child.type for token in PARSER.parse(text) for child in token.children or ()}


def html(text: str) -> list[str]:
    return [token.content for token in PARSER.parse(text) if token.type == "html_block"]


def test_what_is_wrong_comes_first_and_the_rest_is_folded() -> None:
    text = render(report())
    headings = ("### dsv4-doctor 1.0: fail", "# Failed", "# Could not be told", "# Warnings")
    places = [text.index(each) for each in (*headings, "<details>", "| pass |", "| skip |")]
    assert places == sorted(places)
    assert "1 pass, 1 warn, 1 fail, 1 unknown, 1 skip" in text
    assert "- run: `echo text`" in text
    assert len(html(text)) == 2


# An empty text is left out: there is no line for what was not found.
@given(hostile.filter(bool))
def test_hostile_text_changes_nothing_of_the_document(text: str) -> None:
    rendered = render(report(text))
    assert structure(rendered) == structure(render(report()))
    assert inline(rendered) <= TEXT
    assert html(rendered) == html(render(report()))


@given(hostile)
def test_escaped_text_is_shown_as_it_is(text: str) -> None:
    (paragraph,) = [token for token in PARSER.parse(f"x{escaped(text)}x") if token.children]
    shown = "".join(child.content for child in paragraph.children or ())
    assert shown.replace("\u200b", "") == f"x{one_line(text)}x"


@given(hostile | st.text(alphabet="` a", max_size=9))
def test_code_is_shown_as_it_is(text: str) -> None:
    (paragraph,) = [token for token in PARSER.parse(f"x {code(text)}") if token.children]
    (shown,) = [child for child in paragraph.children or () if child.type == "code_inline"]
    assert shown.content.strip() == one_line(text).strip()
