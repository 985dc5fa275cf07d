"""Hosts as JSON lines, each written as soon as it is judged: for more hosts than memory holds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dsv4_doctor.fleet.model import ACTED_ON, Host

if TYPE_CHECKING:
    from dsv4_doctor.fleet.model import Refused


def render(found: Host | Refused) -> str:
    """Return one line that ends with a line feed; a document that is not read is one, too."""
    data = _host(found) if isinstance(found, Host) else {"not_read": found.reason}
    return json.dumps({"origin": found.origin, **data}, ensure_ascii=True) + "\n"


def _host(host: Host) -> dict[str, Any]:
    return {
        "host": host.name,
        "verdict": host.verdict,
        "taken_at": host.taken_at,
        "problem": host.problem,
        **{
            status: [cause.id for cause in host.causes if cause.status == status]
            for status in ACTED_ON
        },
    }
