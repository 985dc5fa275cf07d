"""The HTML page in a real browser, without a screen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.browser import needed, opened, running
from tests.doctor.fleet.fleets import judge, machine, without_headers
from tests.doctor.fleet.test_judging import document

from dsv4_doctor.codec import dump_snapshot
from dsv4_doctor.fleet.model import Host
from dsv4_doctor.fleet.picture import Against, compose
from dsv4_doctor.formats import fleet_html

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

needed()

EVIL = "n3</script><img src=x onerror=alert(1)>"


def hosts() -> list[Host]:
    one = judge()
    machines = [machine(f"n1{number:03}") for number in range(200)]
    machines += [without_headers("n2"), machine(EVIL)]
    made = [one.host(document(json.loads(dump_snapshot(each)))) for each in machines]
    return [each for each in made if isinstance(each, Host)]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running() as started:
        yield started


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "fleet.html"
    fleet = compose(hosts(), against=Against(expected=("n9",)))
    path.write_text(fleet_html.render(fleet), encoding="utf-8")
    return path


@pytest.fixture
def page(browser: Browser, file: Path) -> Iterator[Page]:
    with opened(browser, file) as page:
        yield page


def test_it_says_what_the_fleet_is(page: Page) -> None:
    assert page.inner_text("#verdict") == "fail"
    assert "202 hosts" in page.inner_text("#summary").replace("\n", " ")
    assert "Python.h of Python 3.12.3 is missing" in page.inner_text("#groups")
    assert "an expected host has no report" in page.inner_text("#groups")


def test_only_the_rows_in_view_are_drawn(page: Page) -> None:
    assert page.inner_text("#count") == "202 of 202 hosts"
    assert 10 < page.locator(".row").count() < 100


def test_filter_verdict_and_check_narrow_the_table(page: Page) -> None:
    page.fill("#filter", "N1007")
    assert page.inner_text("#count") == "1 of 202 hosts"
    assert page.locator(".row .name").inner_text() == "n1007"
    page.click("#clear")
    page.select_option("#by-verdict", "fail")
    assert page.inner_text("#count") == "1 of 202 hosts"
    page.click("#clear")
    page.select_option("#by-check", "python.headers.present")
    assert page.locator(".row .name").all_inner_texts() == ["n2"]


def test_the_worst_come_first_and_names_sort(page: Page) -> None:
    assert page.locator(".row .name").first.inner_text() == "n2"
    page.select_option("#sort", "name")
    assert page.locator(".row .name").first.inner_text() == "n1000"


def test_a_host_opens_by_click_and_by_keyboard(page: Page) -> None:
    page.locator(".row").first.click()
    assert page.inner_text("#host-title") == "n2"
    assert "python3.12-dev" in page.inner_text("#host-body")
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0
    page.focus("#matrix")
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    assert page.inner_text("#host-title") == EVIL
    page.click("#close")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "filter"


def test_a_group_shows_its_hosts_in_the_table(page: Page) -> None:
    page.locator("#groups details summary").filter(has_text="python.headers.present").click()
    page.get_by_role("button", name="show these hosts in the table").locator("visible=true").click()
    assert page.inner_text("#count") == "1 of 202 hosts"


def test_names_are_text_and_nothing_else(page: Page) -> None:
    page.fill("#filter", "onerror")
    assert page.locator(".row .name").inner_text() == EVIL
    assert page.locator("img").count() == 0


def test_dark_and_light(page: Page) -> None:
    def background() -> object:
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    light = background()
    page.click("#theme")
    assert background() != light


def test_paper_has_the_groups_and_not_the_table(page: Page) -> None:
    page.emulate_media(media="print")
    assert page.locator("#groups").is_visible()
    assert not page.locator("#matrix").is_visible()
    assert page.pdf().startswith(b"%PDF")
