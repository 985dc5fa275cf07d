"""What lint says as JSON, in the schema ``dsv4-doctor/lint/1``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dsv4_doctor import __version__
from dsv4_doctor.lazy_dataclass import as_data

if TYPE_CHECKING:
    from dsv4_doctor.lint.report import LintReport

SCHEMA = "dsv4-doctor/lint/1"


def render(report: LintReport) -> str:
    """Return the report as indented JSON that ends with a line feed."""
    document = {
        "schema": SCHEMA,
        "tool": {"name": "dsv4-doctor", "version": __version__},
        "verdict": report.verdict,
        **as_data(report),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
