"""An inspection as JSON, in the schema ``dsv4-doctor/inspection/1``."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from dsv4_doctor import __version__

if TYPE_CHECKING:
    from dsv4_doctor.formats.inspection_view import View


def render(view: View) -> str:
    """Return what was found and decided as indented JSON that ends with a line feed."""
    found = view.inspection.to_json()
    document = {
        "schema": found.pop("schema"),
        "tool": {"name": "dsv4-doctor", "version": __version__},
        **found,
        "decisions": [decision.to_json() for decision in view.decisions],
    }
    for key, sizes in (("by_arch", view.by_arch), ("by_family", view.by_family)):
        if sizes is not None:
            document[key] = [asdict(each) for each in sizes]
    if view.image is not None:
        document["image"] = view.image.to_json()
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
