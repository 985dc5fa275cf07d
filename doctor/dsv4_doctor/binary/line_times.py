"""The modification times of sources that a compiler notes in ``.debug_line``.

DWARF up to version 4 has a field for them in every file of a line table (DWARF 4, 6.2.4, entry 12).
gcc leaves it zero; nvcc with ``-lineinfo`` fills it in.
"""

from __future__ import annotations

from datetime import datetime, timezone

_LAST_VERSION = 4
_HAS_MAXIMUM = 4
# unit length, version, header length
_HEAD = 10
# Bits of a number; more would be no time and no length of anything.
_WIDEST = 63


class LineTableError(ValueError):
    """The line table is of a version without times, or damaged."""


def without_times(content: bytes) -> tuple[bytes, tuple[int, ...]]:
    """Return a ``.debug_line`` section without the times in it, and the times.

    Raises:
        LineTableError: It is of a version that has none, or damaged.
    """
    rest, times, unit = bytearray(), [], 0
    try:
        while unit < len(content):
            length = int.from_bytes(content[unit : unit + 4], "little")
            end = unit + 4 + length
            version = int.from_bytes(content[unit + 4 : unit + 6], "little")
            if not 2 <= version <= _LAST_VERSION or end > len(content):
                raise LineTableError
            at = _files_start(content, unit, version)
            kept = unit
            while content[at]:
                _, at = _number(content, content.index(b"\0", at) + 1)
                rest += content[kept:at]
                time, at = _number(content, at)
                times.append(time)
                kept = at
                _, at = _number(content, at)
            rest += content[kept:end]
            unit = end
    except (IndexError, ValueError) as error:
        raise LineTableError from error
    return bytes(rest), tuple(times)


def as_date(seconds: int) -> str:
    """Return a time as ``2026-11-29T18:25:04Z``, or as its number when it is none."""
    try:
        return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return str(seconds)


def _files_start(content: bytes, unit: int, version: int) -> int:
    at = unit + _HEAD + (5 if version >= _HAS_MAXIMUM else 4)
    # One length for each opcode but the first.
    at += content[at]
    while content[at]:
        at = content.index(b"\0", at) + 1
    return at + 1


def _number(content: bytes, at: int) -> tuple[int, int]:
    """Read a number in LEB128; return it and where it ends."""
    value = shift = 0
    while True:
        byte = content[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at
        if shift > _WIDEST:
            raise LineTableError
