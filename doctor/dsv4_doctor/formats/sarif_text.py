"""What every SARIF document has: its schema, and how a text becomes a message."""

from __future__ import annotations

from dsv4_doctor.formats.plain import printable

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)


def message(text: str) -> dict[str, str]:
    """Return plain text as a message: braces and brackets stand for themselves, not for a link."""
    plain = printable(text).replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    return {"text": plain.replace("{", "{{").replace("}", "}}")}
