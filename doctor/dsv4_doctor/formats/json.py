"""A report as JSON, in the schema ``dsv4-doctor/report/1``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dsv4_doctor.report import Report


def render(report: Report) -> str:
    """Return the report as indented JSON that ends with a line feed."""
    return json.dumps(report.to_json(), indent=2, ensure_ascii=False) + "\n"
