"""What was counted and measured of builds: units of releases, disk, costs of embedded trees."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

_FILE = Path(__file__).parent.parent / "knowledge" / "units.json"


@cache
def content() -> dict[str, Any]:
    """Return the content of ``knowledge/units.json``.

    ``releases`` and ``recipes`` have under ``units`` the sources of each component, and under
    ``at`` what was counted; ``recipes`` under ``costs`` seconds of CPU and bytes of memory of a
    unit; ``disk`` has bytes of a configured work directory, of a unit and of a toolkit.
    """
    data: dict[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))
    return data
