"""Random access to a deflated zip member, in bounded memory and without a temporary file.

The first access runs once through the whole member: it checks length and checksum, remembers the
decompressor's state every block (40 kB each), and keeps the headers of fat binaries as they pass,
so that listing architectures needs no second run. Any later read inflates the block that it
touches from the state at its start.
"""

from __future__ import annotations

import io
import zlib
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from dsv4_doctor.binary.source import BinaryError, check_range

if TYPE_CHECKING:
    from dsv4_doctor.binary.source import Source

RAW_DEFLATE = -15

_BLOCK = 2 << 20
# At most so many states are kept, whatever the member's size: blocks grow instead.
_MAX_BLOCKS = 128
# Fed in small pieces, because a state holds on to the piece that it stopped in.
_PIECE = 16 << 10
_CACHED_BLOCKS = 2


class Tap(Protocol):
    """Sees a member's bytes pass by once and keeps those that will be wanted."""

    def feed(self, offset: int, data: bytes) -> None:
        """Take the next bytes; they follow those of the call before."""

    def get(self, offset: int, size: int) -> bytes | None:
        """Return bytes that were kept, or ``None``."""


@dataclass(frozen=True)
class Claim:
    """What the directory of a zip file says of a member.

    Attributes:
        offset: Where its data starts in the file.
        stored: Bytes that it takes there.
        size: Bytes once inflated.
        checksum: CRC-32 of those.
    """

    offset: int
    stored: int
    size: int
    checksum: int


class Blocks:
    """The blocks inflated last, of all members of one archive together.

    One for each member, they took 64 MB for the 16 objects of vLLM 0.24.0. Members may be read in
    threads of their own: a block that is gone meanwhile is inflated anew.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[int, int], bytes] = OrderedDict()

    def get(self, member: int, index: int) -> bytes | None:
        """Return a block of the member that starts at this offset, ``None`` if it is gone."""
        return self._kept.get((member, index))

    def put(self, member: int, index: int, block: bytes) -> None:
        """Keep a block, in place of the oldest one."""
        self._kept[member, index] = block
        if len(self._kept) > _CACHED_BLOCKS:
            self._kept.popitem(last=False)


class DeflatedMember:
    """One deflated member of a zip file."""

    def __init__(
        self, file: Source, name: str, claim: Claim, tap: Tap, blocks: Blocks | None = None
    ) -> None:
        """Describe the member.

        Args:
            file: The zip file.
            name: What errors call the member.
            claim: What the directory says of it; the first run holds it to that.
            tap: What keeps bytes of the first run.
            blocks: What keeps the blocks inflated last, for all members of one archive.

        Raises:
            BinaryError: The data would lie outside the file.
        """
        check_range(file, claim.offset, claim.stored)
        self.name = name
        self.size = claim.size
        self._file = file
        self._start = claim.offset
        self._end = claim.offset + claim.stored
        self._checksum = claim.checksum
        self._tap = tap
        self._block = max(_BLOCK, -(-claim.size // _MAX_BLOCKS))
        self._states: list[tuple[zlib._Decompress, int]] = []
        self._blocks = Blocks() if blocks is None else blocks

    def peek(self, size: int) -> bytes:
        """See :class:`~dsv4_doctor.binary.source.Source`; does not run through the member."""
        piece = self._file.read(self._start, min(_PIECE, self._end - self._start))
        try:
            return zlib.decompressobj(RAW_DEFLATE).decompress(piece, size)
        except zlib.error as error:
            raise BinaryError(self.name, 0, f"cannot be inflated: {error}") from error

    def read(self, offset: int, size: int) -> bytes:
        """See :class:`~dsv4_doctor.binary.source.Source`."""
        check_range(self, offset, size)
        if not self._states:
            self._run()
        kept = self._tap.get(offset, size)
        if kept is not None:
            return kept
        data = io.BytesIO()
        while data.tell() < size:
            index, skip = divmod(offset + data.tell(), self._block)
            data.write(self._inflated(index)[skip : skip + size - data.tell()])
        return data.getvalue()

    def _run(self) -> None:
        decompressor = zlib.decompressobj(RAW_DEFLATE)
        states = [(decompressor.copy(), self._start)]
        position, done, checksum = self._start, 0, 0
        while True:
            block, position = self._next_block(decompressor, position, done)
            checksum = zlib.crc32(block, checksum)
            self._tap.feed(done, block)
            done += len(block)
            if not block or done == self.size:
                break
            states.append((decompressor.copy(), position))
        if done != self.size or checksum != self._checksum:
            reason = "length or checksum differ from the zip directory: the archive is damaged"
            raise BinaryError(self.name, done, reason)
        self._states = states

    def _inflated(self, index: int) -> bytes:
        block = self._blocks.get(self._start, index)
        if block is None:
            state, position = self._states[index]
            block, _ = self._next_block(state.copy(), position, index * self._block)
            self._blocks.put(self._start, index, block)
        return block

    def _next_block(
        self, decompressor: zlib._Decompress, position: int, done: int
    ) -> tuple[bytes, int]:
        wanted = min(self._block, self.size - done)
        parts: list[bytes] = []
        try:
            while wanted > 0 and not decompressor.eof:
                piece = decompressor.unconsumed_tail
                if not piece:
                    piece = self._file.read(position, min(_PIECE, self._end - position))
                    position += len(piece)
                part = decompressor.decompress(piece, wanted)
                if not part and not piece:
                    break
                parts.append(part)
                wanted -= len(part)
        except zlib.error as error:
            raise BinaryError(self.name, done, f"cannot be inflated: {error}") from error
        return b"".join(parts), position
