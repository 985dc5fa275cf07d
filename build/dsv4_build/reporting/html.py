"""A build as one HTML file that needs nothing else: no network, no server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dsv4_doctor import __version__
from dsv4_doctor.resources import files

if TYPE_CHECKING:
    from dsv4_build.reporting.model import BuildReport


def render(report: BuildReport) -> str:
    """Return the page."""
    page = _part("build.html")
    # Data last: it may hold anything, so nothing is looked for in it any more.
    for mark, text in (
        ("/*STYLE*/", _part("build.css")),
        ("/*SCRIPT*/", _part("build.js")),
        ('"DATA"', _inert(_content(report))),
    ):
        before, _, after = page.partition(mark)
        page = before + text + after
    return page


def _part(name: str) -> str:
    return (files(__package__) / "page" / name).read_text(encoding="utf-8")


def _inert(data: Any) -> str:
    """Return JSON in which nothing can end the script element or begin a comment."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _content(report: BuildReport) -> dict[str, Any]:
    return {
        "version": __version__,
        **{name: getattr(report, name) for name in _SHOWN},
        "steps": [vars(step) for step in report.steps],
        "units": [
            {**vars(unit), "spans": [vars(span) for span in unit.spans]} for unit in report.units
        ],
        "moments": [[getattr(each, name) for name in _MOMENT] for each in report.moments],
        "cache": report.cache.text if report.cache is not None else "",
    }


# In the order in which the page's script takes them.
_MOMENT = ("at", "used", "limit", "running", "paused", "waiting", "compilers")
_SHOWN = (
    *("outcome", "error", "what", "archs", "toolchain", "started", "seconds", "cores", "jobs"),
    *("memory", "measured", "evictions", "notes", "log"),
)
