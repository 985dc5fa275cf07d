"""A real browser without a screen; a page in it must ask for nothing and go wrong nowhere."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

_PROGRAM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)


def needed() -> None:
    """Leave the whole module out where there is no browser, unless one must be there."""
    if os.environ.get("DSV4_BROWSER_REQUIRED"):
        return
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if _PROGRAM is None:
        pytest.skip("no Chromium on this machine", allow_module_level=True)


@contextmanager
def running() -> Iterator[Browser]:
    """Run the browser."""
    playwright = import_module("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        # Root has no sandbox in Chromium.
        started = driver.chromium.launch(executable_path=_PROGRAM, args=["--no-sandbox"])
        yield started
        started.close()


@contextmanager
def opened(browser: Browser, file: Path) -> Iterator[Page]:
    """Open a file; at the end nothing else was requested, no script failed, no dialog came up."""
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on(
        "console",
        lambda message: problems.append(message.text) if message.type == "error" else None,
    )
    page.on("request", lambda request: problems.append(request.url))
    page.on("dialog", lambda dialog: problems.append(dialog.message))
    page.goto(file.as_uri())
    yield page
    page.close()
    assert set(problems) == {file.as_uri()}
