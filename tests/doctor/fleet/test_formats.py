"""What machines say of themselves is hostile text: no format lets it act."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.console import Console
from tests.doctor.binary.test_schema import schema

from dsv4_doctor.fleet.drift import differing
from dsv4_doctor.fleet.model import Cause, Fleet, Host, Refused
from dsv4_doctor.fleet.picture import Against, compose
from dsv4_doctor.formats import (
    fleet_csv,
    fleet_html,
    fleet_json,
    fleet_markdown,
    fleet_text,
    markdown_text,
    plain,
)

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "=cmd|' /C calc'!A0",
    "@SUM(1)",
    "-1+1",
    "\x1b]0;owned\x07\x1b[2J",
    "| a | b |\n# heading",
    "[x](javascript:alert(1)) ![y](http://example.org/z)",
    "`a``b`",
    "\u202egnp.exe",
    "\ud800",
    "",
)
TEXTS = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=40))


def fleet(text: str) -> Fleet:
    """Return a picture in which every text of a machine is this one."""
    cause = Cause("area.subject.rule", "fail", text, text, text, text, (text,), (text,))
    hosts = [
        Host(f"n1{text}", "2026", text, "fail", (cause,), (("driver", text),)),
        Host("n2", "2026", "f", "pass", (Cause("area.subject.rule", "pass"),), (("driver", "1"),)),
        Host("n3", "2026", "f", "pass", (), (("driver", "1"),)),
        Host("n4", "", text, "fail", problem=text or "none"),
    ]
    return compose(hosts, [Refused(text, text)], text, Against(expected=(f"n5{text}",)))


class Elements(HTMLParser):
    """Counts the elements of a page, and keeps the text of its data."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.scripts = 0
        self.tags: dict[str, int] = {}
        self.data = ""
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self._inside = tag == "script" and ("id", "data") in attrs

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.data += data


def elements(page: str) -> Elements:
    parser = Elements()
    parser.feed(page)
    parser.close()
    return parser


@given(TEXTS)
def test_html_has_the_same_elements_whatever_the_machines_say(text: str) -> None:
    quiet = elements(fleet_html.render(fleet("x")))
    hostile = elements(fleet_html.render(fleet(text)))
    assert hostile.tags == quiet.tags
    assert json.loads(hostile.data)["hosts"][0][0] == f"n1{text}"


def test_html_loads_nothing_from_elsewhere() -> None:
    page = fleet_html.render(fleet("x"))
    assert re.findall(r"(?:src|href)\s*=|@import|url\(|fetch\(|XMLHttp", page) == []
    assert "default-src 'none'" in page


@given(TEXTS)
def test_csv_computes_nothing(text: str) -> None:
    rows = list(csv.reader(io.StringIO(fleet_csv.render(fleet(text)), newline="")))
    assert {len(row) for row in rows} == {len(fleet_csv.COLUMNS)}
    cells = [cell for row in rows[1:] for cell in row]
    assert [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))] == []
    assert [cell for cell in cells if re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", cell)] == []


@given(TEXTS)
def test_markdown_shows_no_link_no_picture_and_no_markup_of_theirs(text: str) -> None:
    made = fleet(text)
    tokens = MarkdownIt("commonmark").enable("table").parse(fleet_markdown.render(made))
    inline = [child for token in tokens for child in token.children or ()]
    kinds = {token.type for token in tokens} | {child.type for child in inline}
    assert kinds.isdisjoint({"link_open", "image", "html_block", "html_inline", "fence"})
    headings = [token for token in tokens if token.type == "heading_open"]
    assert len(headings) == 1 + len(made.groups) + bool(differing(made.drift))


@given(TEXTS)
def test_code_in_a_cell_stays_in_it(text: str) -> None:
    table = f"| a | b |\n|---|---|\n| {markdown_text.cell_code(text)} | x |\n"
    tokens = MarkdownIt("commonmark").enable("table").parse(table)
    cells = [each for each in tokens if each.type == "inline"]
    assert [each.content for each in cells[:2]] == ["a", "b"]
    assert cells[3].content == "x"
    [code] = cells[2].children or []
    assert code.content.strip() == plain.one_line(text).strip()


@given(TEXTS)
def test_the_terminal_gets_no_control_characters(text: str) -> None:
    output = io.StringIO()
    console = Console(file=output, width=100, color_system=None, markup=False, emoji=False)
    fleet_text.render(fleet(text), console)
    assert re.findall(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", output.getvalue()) == []


@given(TEXTS)
def test_json_is_valid(text: str) -> None:
    data = json.loads(fleet_json.render(fleet(text)))
    jsonschema.validate(data, schema("fleet-1.json"))
    assert data["verdict"] == "fail"


@pytest.mark.parametrize("render", [fleet_html.render, fleet_csv.render, fleet_markdown.render])
def test_an_empty_fleet_has_a_page_too(render: object) -> None:
    assert callable(render)
    assert render(compose([]))
