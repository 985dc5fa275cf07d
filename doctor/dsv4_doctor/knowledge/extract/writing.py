"""JSON as the extracted knowledge files are laid out."""

from __future__ import annotations

import json
from typing import Any


def render_rows(data: Any) -> str:
    """Return JSON with a line for each thing, and no blanks in it: small, and readable by diff."""
    parts = []
    for key, value in data.items():
        if isinstance(value, dict) and any(isinstance(each, dict) for each in value.values()):
            inner = [f"{json.dumps(name)}:{_small(each)}" for name, each in value.items()]
            parts.append(f"{json.dumps(key)}:{{\n" + ",\n".join(inner) + "\n}")
        elif isinstance(value, list) and any(isinstance(each, dict) for each in value):
            inner = [_small(each) for each in value]
            parts.append(f"{json.dumps(key)}:[\n" + ",\n".join(inner) + "\n]")
        else:
            parts.append(f"{json.dumps(key)}:{_small(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _small(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))
