"""A build as one HTML file that needs nothing else: no network, no server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dsv4_doctor import __version__
from dsv4_doctor.formats.html_page import assemble
from dsv4_doctor.resources import files

if TYPE_CHECKING:
    from dsv4_build.reporting.model import BuildReport


def render(report: BuildReport) -> str:
    """Return the page."""
    return assemble(files(__package__) / "page", "build", _content(report))


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
