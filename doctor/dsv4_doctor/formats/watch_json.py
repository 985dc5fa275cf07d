"""A moment of a watch as JSON, in the schema ``dsv4-doctor/watch/1``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dsv4_doctor import __version__
from dsv4_doctor.lazy_dataclass import as_data
from dsv4_doctor.watch.report import SCHEMA

if TYPE_CHECKING:
    from dsv4_doctor.watch.report import WatchReport


def render(report: WatchReport, *, indent: int | None) -> str:
    """Return the document, on one line without an indent; it ends with a line feed."""
    tool = {"name": "dsv4-doctor", "version": __version__}
    document = {"schema": SCHEMA, "tool": tool, **as_data(report)}
    return json.dumps(document, indent=indent, ensure_ascii=False) + "\n"
