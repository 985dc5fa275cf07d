"""An inspection as JSON, in the schema ``dsv4-doctor/inspection/1``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dsv4_doctor import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsv4_doctor.binary.contents import Inspection
    from dsv4_doctor.binary.requirements import Decision


def render(inspection: Inspection, decisions: Iterable[Decision]) -> str:
    """Return inspection and decisions as indented JSON that ends with a line feed."""
    found = inspection.to_json()
    document = {
        "schema": found.pop("schema"),
        "tool": {"name": "dsv4-doctor", "version": __version__},
        **found,
        "decisions": [decision.to_json() for decision in decisions],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
