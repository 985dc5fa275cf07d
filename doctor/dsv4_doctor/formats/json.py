"""A report as JSON, in the schema ``dsv4-doctor/report/1``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dsv4_doctor.lazy_dataclass import as_data

if TYPE_CHECKING:
    from dsv4_doctor.report import Report
    from dsv4_doctor.snapshot import Snapshot


def render(report: Report, snapshot: Snapshot | None = None) -> str:
    """Return the report, and the facts it is about if given, as indented JSON with a line feed."""
    data = report.to_json()
    if snapshot is not None:
        data["snapshot"] = as_data(snapshot)
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
