"""Random access to a compressed layer, in bounded memory.

The first pass runs once through all of it and remembers the decompressor's state every few
megabytes (40 kB each), as :mod:`dsv4_doctor.binary.inflate` does for a member of a wheel; any later
read inflates from the nearest state. What zstd compressed cannot be entered in its middle: the
files of it that matter go to a temporary file without a name.
"""

from __future__ import annotations

import os
import tempfile
import weakref
import zlib
from bisect import bisect_right
from collections import OrderedDict
from typing import TYPE_CHECKING

from dsv4_doctor.binary.source import BinaryError, check_range

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.binary.source import Source

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"

_BLOCK = 2 << 20
_MAX_STATES = 128
# Fed in small pieces, because a state holds on to the piece that it stopped in.
_PIECE = 16 << 10
_CACHED = 8
_ANY_GZIP = 31


class GzipSource:
    """The bytes that a gzip file holds; of several members, one after the other."""

    def __init__(self, file: Source, name: str) -> None:
        self.name = name
        self.size = 0
        self._file = file
        self._states: list[tuple[int, zlib._Decompress, int]] = []
        self._stride = 1
        self._cache: OrderedDict[int, bytes] = OrderedDict()
        # Where the last read stopped: the next one mostly goes on from there.
        self._last: tuple[int, zlib._Decompress, int] | None = None

    def blocks(self) -> Iterator[bytes]:
        """Run through everything once; afterwards ``size`` is right and any part can be read.

        Raises:
            BinaryError: Damaged, or cut short.
        """
        inflater, position, index = zlib.decompressobj(_ANY_GZIP), 0, 0
        while True:
            if index % self._stride == 0:
                self._states.append((index, inflater.copy(), position))
                if len(self._states) > _MAX_STATES:
                    self._states, self._stride = self._states[::2], self._stride * 2
            block, inflater, position = self._block(inflater, position)
            self.size += len(block)
            if block:
                yield block
            if len(block) < _BLOCK:
                return
            index += 1

    def read(self, offset: int, size: int) -> bytes:
        """See :class:`~dsv4_doctor.binary.source.Source`."""
        check_range(self, offset, size)
        parts: list[bytes] = []
        done = 0
        while done < size:
            index, skip = divmod(offset + done, _BLOCK)
            part = self._inflated(index)[skip : skip + size - done]
            parts.append(part)
            done += len(part)
        return b"".join(parts)

    def peek(self, size: int) -> bytes:
        """See :class:`~dsv4_doctor.binary.source.Source`."""
        return self.read(0, min(size, self.size))

    def _inflated(self, wanted: int) -> bytes:
        if wanted in self._cache:
            self._cache.move_to_end(wanted)
            return self._cache[wanted]
        at = bisect_right([index for index, _, _ in self._states], wanted) - 1
        index, state, position = self._states[at]
        if self._last is not None and index <= self._last[0] <= wanted:
            index, inflater, position = self._last
        else:
            inflater = state.copy()
        block = b""
        for number in range(index, wanted + 1):
            block, inflater, position = self._block(inflater, position)
            self._cache[number] = block
            if len(self._cache) > _CACHED:
                self._cache.popitem(last=False)
        self._last = wanted + 1, inflater, position
        if not block:
            raise BinaryError(self.name, wanted * _BLOCK, "the file changed while it was read")
        return block

    def _block(
        self, inflater: zlib._Decompress, position: int
    ) -> tuple[bytes, zlib._Decompress, int]:
        parts: list[bytes] = []
        left = _BLOCK
        try:
            while left > 0:
                piece = inflater.unconsumed_tail
                if inflater.eof:
                    piece = inflater.unused_data.lstrip(b"\0")
                    if not piece:
                        piece = self._next(position)
                        position += len(piece)
                        piece = piece.lstrip(b"\0")
                    if not piece:
                        if position >= self._file.size:
                            break
                        continue
                    inflater = zlib.decompressobj(_ANY_GZIP)
                elif not piece:
                    piece = self._next(position)
                    position += len(piece)
                    if not piece:
                        reason = "the gzip data is cut short"
                        raise BinaryError(self.name, position, reason)
                part = inflater.decompress(piece, left)
                parts.append(part)
                left -= len(part)
        except zlib.error as error:
            raise BinaryError(self.name, position, f"damaged gzip data: {error}") from error
        return b"".join(parts), inflater, position

    def _next(self, position: int) -> bytes:
        return self._file.read(position, min(_PIECE, self._file.size - position))


class Spool:
    """Bytes in a temporary file without a name, gone with this object."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.size = 0
        self._descriptor, path = tempfile.mkstemp(prefix="dsv4-layer-")
        os.unlink(path)  # noqa: PTH108 - nobody else is to see it
        weakref.finalize(self, os.close, self._descriptor)

    def write(self, data: bytes) -> None:
        """Add bytes to its end.

        Raises:
            BinaryError: The disk of the temporary directory is full.
        """
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(self._descriptor, left) :]
        except OSError as error:
            where = f"{tempfile.gettempdir()} (TMPDIR): {error.strerror}"
            raise BinaryError(self.name, self.size, where) from error
        self.size += len(data)

    def read(self, offset: int, size: int) -> bytes:
        """See :class:`~dsv4_doctor.binary.source.Source`."""
        check_range(self, offset, size)
        parts: list[bytes] = []
        while size > 0 and (part := os.pread(self._descriptor, size, offset)):
            parts.append(part)
            offset, size = offset + len(part), size - len(part)
        return b"".join(parts)

    def peek(self, size: int) -> bytes:
        """See :class:`~dsv4_doctor.binary.source.Source`."""
        return self.read(0, min(size, self.size))
