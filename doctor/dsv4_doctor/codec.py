"""Snapshots as JSON text and back."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dsv4_doctor.errors import InputError
from dsv4_doctor.snapshot import SCHEMA, Snapshot

STDIN = "-"

# A snapshot of a large machine is some tens of kilobytes.
MAX_SIZE = 64 << 20

_SCHEMA_PATTERN = re.compile(r"dsv4-doctor/snapshot/(\d+)")


def dump_snapshot(snapshot: Snapshot) -> str:
    """Return the snapshot as indented JSON that ends with a line feed."""
    data = {"schema": snapshot.schema, **asdict(snapshot)}
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def load_snapshot(source: str) -> Snapshot:
    """Read a snapshot from a file, or from standard input for ``-``.

    Raises:
        InputError: Unreadable, truncated, not a snapshot, or of a newer schema.
    """
    raw, name = read(source)
    return parse_snapshot(require_text(raw, name), name)


def parse_snapshot(text: str, name: str) -> Snapshot:
    """Read a snapshot from text.

    Args:
        text: JSON.
        name: Where it is from, for error messages.

    Raises:
        InputError: It is no snapshot of a schema that this doctor reads.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        msg = f"{name}: not JSON, or cut short: {error}"
        raise InputError(msg) from error
    check_schema(data, name)
    return _structured(data, name)


def section(name: str, data: Any) -> Any:
    """Read one section of a snapshot.

    Args:
        name: Of a field of :class:`~dsv4_doctor.snapshot.Snapshot`.
        data: Its JSON.

    Raises:
        InputError: It is not what that section is.
    """
    alone = {"taken_at": "", "tool_version": "", "probes": [], name: data}
    return getattr(_structured(alone, name), name)


def _structured(data: Any, name: str) -> Snapshot:
    # Imported here: only a stored snapshot needs it, a live check does not.
    from dacite import Config, DaciteError, from_dict  # noqa: PLC0415

    try:
        return from_dict(Snapshot, _tuples(data), Config(check_types=True))
    except (DaciteError, TypeError, ValueError, AttributeError, RecursionError) as error:
        msg = f"{name}: not a valid snapshot: {error}"
        raise InputError(msg) from error


def read(source: str) -> tuple[bytes, str]:
    """Return the bytes of a file, or of standard input for ``-``, and a name for messages.

    Raises:
        InputError: Unreadable, or larger than anything that is understood.
    """
    name = "<stdin>" if source == STDIN else source
    try:
        if source == STDIN:
            raw = sys.stdin.buffer.read(MAX_SIZE + 1)
        else:
            with Path(source).open("rb") as file:
                raw = file.read(MAX_SIZE + 1)
    except OSError as error:
        msg = f"{name}: {error.strerror or error}"
        raise InputError(msg) from error
    if len(raw) > MAX_SIZE:
        msg = f"{name}: larger than {MAX_SIZE >> 20} MiB, so neither a snapshot nor a pasted text"
        raise InputError(msg, hint="give the part that holds the facts")
    return raw, name


def require_text(raw: bytes, name: str) -> str:
    """Return the text of a snapshot, which is UTF-8.

    Raises:
        InputError: It is not.
    """
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        msg = f"{name}: not UTF-8 text (byte {error.start})"
        raise InputError(msg) from error


def _tuples(data: Any) -> Any:
    # JSON has lists where the dataclasses have tuples; a cast would also take a string apart.
    if isinstance(data, dict):
        return {key: _tuples(value) for key, value in data.items()}
    if isinstance(data, list):
        return tuple(_tuples(value) for value in data)
    return data


def check_schema(data: Any, name: str) -> None:
    """Refuse a document that is no snapshot of a schema that this doctor reads.

    Raises:
        InputError: What it is instead.
    """
    schema = data.get("schema") if isinstance(data, dict) else None
    match = _SCHEMA_PATTERN.fullmatch(schema) if isinstance(schema, str) else None
    if match is None:
        msg = f"{name}: not a snapshot: its schema is {schema!r}, not {SCHEMA!r}"
        raise InputError(msg, hint="`dsv4-doctor snapshot` writes one")
    if int(match[1]) > int(SCHEMA.rpartition("/")[2]):
        msg = f"{name}: schema {schema} is newer than this doctor reads ({SCHEMA})"
        raise InputError(msg, hint="install a newer dsv4-doctor")
