"""A diagnosis as JSON, in the schema ``dsv4-doctor/diagnosis/1``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dsv4_doctor.logs.diagnosis import Diagnosis


def render(diagnosis: Diagnosis) -> str:
    """Return what was said as indented JSON that ends with a line feed."""
    return json.dumps(diagnosis.to_json(), indent=2, ensure_ascii=False) + "\n"
