"""Catches the headers of fat binaries in bytes that stream past once."""

from __future__ import annotations

from dsv4_doctor.binary.fatbin import CONTAINER, ENTRY
from dsv4_doctor.binary.marks import FATBIN

# Enough for every real file; a file of nothing but headers must not fill the memory.
_MAX_KEPT = 1 << 18


class HeaderTap:
    """Keeps every header that follows from a container's mark; a cache, never a judgement.

    What it keeps is only ever returned for the offset that it stood at, so bytes that look like
    a container and are none do no harm, and a header that it missed is read in the ordinary way.
    """

    def __init__(self) -> None:
        self._kept: dict[int, bytes] = {}
        self._carry = b""
        # Offset and length of the header to keep next; without one, a mark is looked for.
        self._wanted: tuple[int, int] | None = None
        self._end = 0

    def get(self, offset: int, size: int) -> bytes | None:
        """Return the header at this offset, if it was kept in this length."""
        kept = self._kept.get(offset)
        return kept if kept is not None and len(kept) == size else None

    def feed(self, offset: int, data: bytes) -> None:
        """See :class:`~dsv4_doctor.binary.inflate.Tap`."""
        base = offset - len(self._carry)
        window = self._carry + data
        position = 0
        while len(self._kept) < _MAX_KEPT:
            if self._wanted is None:
                found = window.find(FATBIN, position)
                if found < 0:
                    self._carry = window[max(position, len(window) - len(FATBIN) + 1) :]
                    return
                self._wanted = (base + found, CONTAINER.size)
            start, size = self._wanted
            position = start - base
            if position + size > len(window):
                self._carry = window[position:]
                return
            header = window[position : position + size]
            position += 1
            if size == CONTAINER.size and not header.startswith(FATBIN):
                self._wanted = None
                continue
            self._kept[start] = header
            self._wanted = self._next(start, header)

    def _next(self, start: int, header: bytes) -> tuple[int, int]:
        if len(header) == CONTAINER.size:
            _, _, size, body = CONTAINER.unpack(header)
            follows, self._end = start + size, start + size + body
        else:
            fields = ENTRY.unpack(header)
            follows = start + fields[2] + fields[3]
        # A length of nothing would lead to the same header again and again.
        if start < follows < self._end:
            return follows, ENTRY.size
        return max(self._end, start + 1), CONTAINER.size
