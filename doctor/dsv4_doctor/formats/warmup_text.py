"""What a warm-up of the prefix cache did, as lines and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dsv4_doctor.formats.plain import one_line
from dsv4_doctor.lazy_dataclass import as_data

if TYPE_CHECKING:
    from dsv4_doctor.watch.warmup import Warmed

SCHEMA = "dsv4-doctor/warmup/1"


def render(done: Warmed) -> str:
    """Return the lines: each prefix, then what the cache's counters say."""
    lines = []
    for number, each in enumerate(done.sent, 1):
        times = (
            one_line(each.problem)
            if each.first is None or each.second is None
            else f"first {each.first * 1000:.0f} ms, again {each.second * 1000:.0f} ms"
        )
        lines.append(f"prefix {number}, {each.characters} characters: {times}")
    rates = (("before", done.hit_rate_before), ("after", done.hit_rate_after))
    told = ", ".join(f"{name} {rate:.1%}" for name, rate in rates if rate is not None)
    lines.append(f"hit rate of the prefix cache: {told or 'not told'}")
    if done.note:
        lines.append(done.note)
    return "\n".join(lines) + "\n"


def as_json(done: Warmed) -> str:
    """Return it as indented JSON that ends with a line feed."""
    document = {"schema": SCHEMA, **as_data(done)}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
