"""A plan of a start as JSON, in the schema ``dsv4-doctor/launch/1``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dsv4_doctor.launch.plan import Plan


def render(plan: Plan) -> str:
    """Return the plan as indented JSON that ends with a line feed."""
    return json.dumps(plan.to_json(), indent=2, ensure_ascii=False) + "\n"
