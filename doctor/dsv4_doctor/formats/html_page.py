"""A page as one HTML file that needs nothing else: style, script and data are put into it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.abc import Traversable


def assemble(parts: Traversable, name: str, data: Any) -> str:
    """Return a page with everything inside it.

    Args:
        parts: Directory with ``NAME.html``, ``NAME.css`` and ``NAME.js``.
        name: Of the page.
        data: What its script shows; anything that JSON can hold, and never believed to be harmless.
    """
    page = _read(parts, f"{name}.html")
    # Data last: it may hold anything, so nothing is looked for in it any more.
    for mark, text in (
        ("/*STYLE*/", _read(parts, f"{name}.css")),
        ("/*SCRIPT*/", _read(parts, f"{name}.js")),
        ('"DATA"', _inert(data)),
    ):
        before, _, after = page.partition(mark)
        page = before + text + after
    return page


def _read(parts: Traversable, name: str) -> str:
    return (parts / name).read_text(encoding="utf-8")


def _inert(data: Any) -> str:
    """Return JSON in which nothing can end the script element or begin a comment."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
