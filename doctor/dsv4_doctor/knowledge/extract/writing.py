"""JSON as the knowledge files are laid out: what fits into a line stands in one."""

from __future__ import annotations

import json
from typing import Any

_WIDTH = 100


def render(data: Any) -> str:
    """Return JSON with a line break at its end."""
    return _value(data, 0, 0) + "\n"


def _value(data: Any, indent: int, used: int) -> str:
    flat = _flat(data)
    if flat is not None and indent + used + len(flat) <= _WIDTH:
        return flat
    inner = " " * (indent + 2)
    if isinstance(data, dict):
        entries = [
            f"{inner}{json.dumps(key)}: {_value(value, indent + 2, len(key) + 5)}"
            for key, value in data.items()
        ]
        return "{\n" + ",\n".join(entries) + f"\n{' ' * indent}}}"
    if isinstance(data, list):
        entries = [f"{inner}{_value(value, indent + 2, 1)}" for value in data]
        return "[\n" + ",\n".join(entries) + f"\n{' ' * indent}]"
    return json.dumps(data, ensure_ascii=False)


def _flat(data: Any) -> str | None:
    """The value in one line, when it holds nothing nested but lists of plain values."""
    children = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    if any(isinstance(each, dict) and each for each in children) and isinstance(data, dict):
        return None
    return json.dumps(data, ensure_ascii=False)
