"""The page of a build in a real browser, without a screen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.browser import needed, opened, running
from tests.build.reporting.examples import EVIL, Writer, eventful, report

from dsv4_build.reporting import html

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

needed()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running() as started:
        yield started


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    file = tmp_path / "build-report.html"
    file.write_text(html.render(report(eventful().lines)), encoding="utf-8")
    with opened(browser, file) as page:
        yield page


@pytest.fixture
def bare(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    file = tmp_path / "bare.html"
    file.write_text(html.render(report(Writer().lines, "built")), encoding="utf-8")
    with opened(browser, file) as page:
        yield page


def test_it_says_how_the_build_went(page: Page) -> None:
    assert page.inner_text("#outcome") == "failed"
    summary = page.inner_text("#summary").replace("\n", " ")
    for fact in (
        "25.0 s in all",
        "5 units",
        "1 killed compiler",
        "1 withdrawn compiler",
        "1 of 4 units",
    ):
        assert fact in summary
    assert "<b>memory</b>" in page.inner_text("#error")


def test_every_stretch_of_a_unit_is_drawn_with_memory_below(page: Page) -> None:
    assert page.locator("#timeline rect.unit").count() == 8
    assert page.locator("#timeline rect.paused").count() == 1
    assert page.locator("#memory polygon").count() == 2
    assert page.locator("#memory line.limit").count() == 1
    timeline = page.locator("#timeline").bounding_box()
    memory = page.locator("#memory").bounding_box()
    assert timeline is not None
    assert memory is not None
    assert memory["y"] > timeline["y"]
    assert memory["width"] == timeline["width"]


def test_a_unit_tells_of_itself(page: Page) -> None:
    page.locator("#timeline rect.paused").hover()
    text = page.inner_text("#tip")
    assert text.startswith("_fa3_C:hopper/b.cu")
    assert "2 tries, killed 1 times" in text
    page.locator("#memory polygon.used").hover()
    assert "GiB of 8.00 GiB" in page.inner_text("#tip")


def test_the_table_is_filtered_and_sorted(page: Page) -> None:
    def first() -> str:
        return page.locator("#units tbody tr td").first.inner_text()

    assert first() == "_fa3_C:hopper/a.cu"
    page.get_by_role("button", name="Unit").click()
    assert page.locator("#units th").first.get_attribute("aria-sort") == "ascending"
    page.keyboard.press("/")
    page.keyboard.type("MARLIN")
    assert page.inner_text("#count") == "1 of 5 units"
    assert first() == "_C:csrc/marlin.cu"


def test_names_are_text_and_nothing_else(page: Page) -> None:
    page.fill("#filter", "onerror")
    assert page.locator("#units tbody tr td").first.inner_text() == EVIL
    assert page.locator("img").count() == 0


def test_dark_and_light(page: Page) -> None:
    def background() -> object:
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    light = background()
    page.click("#theme")
    assert background() != light


def test_a_build_of_which_nothing_was_watched(bare: Page) -> None:
    assert bare.inner_text("#outcome") == "built"
    assert bare.locator("#no-memory").is_visible()
    assert not bare.locator("#memory-chart").is_visible()
    assert not bare.locator("#error").is_visible()
