"""One layer: its members, which of them hold device code, and its digests, in one pass."""

from __future__ import annotations

import hashlib
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from dsv4_doctor.binary.marks import AR, ELF, FATBIN, may_hold_code
from dsv4_doctor.binary.source import BinaryError, Window
from dsv4_doctor.binary.zstd import NoZstdError
from dsv4_doctor.images.packed import GZIP, ZSTD, GzipSource, Spool
from dsv4_doctor.images.tar import Member, members
from dsv4_doctor.logs import zstd_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dsv4_doctor.binary.source import Source

_PIECE = 1 << 20
# Up to `e_machine` of an ELF header.
_ENOUGH = 20
_OBJECTS = (ELF, FATBIN, AR)
# How the decompressor's notes say that not everything came out.
_DAMAGED = "read up to"
# A layer with more entries than any distribution, and twice the largest image of vLLM, is a bomb.
MAX_MEMBERS = 2_000_000
MAX_SIZE = 64 << 30
# Small texts of which the contents are wanted: what packages say of themselves.
MAX_TEXT = 32 << 20


@dataclass(frozen=True)
class Entry:
    """A member that matters to whoever reads the image.

    Attributes:
        content: Its bytes, ``None`` where nobody wants them.
        code: Whether it holds device code.
        machine: ``e_machine`` of its ELF header, ``None`` for what is no ELF.
    """

    member: Member
    content: Source | None = None
    code: bool = False
    machine: int | None = None


@dataclass(frozen=True)
class Layer:
    """A layer that was read.

    Attributes:
        digest: SHA-256 of the blob, with ``sha256:``.
        diff_id: SHA-256 of the tar in it, likewise.
        size: Bytes of the blob.
        unpacked: Bytes of the tar.
        entries: Its members in their order.
    """

    digest: str
    diff_id: str
    size: int
    unpacked: int
    entries: tuple[Entry, ...]


class _Passing:
    """The bytes of a tar as they pass by, hashed, and what they are read from later."""

    def __init__(self, name: str, pieces: Iterator[bytes]) -> None:
        self.name = name
        self.offset = 0
        self.digest = hashlib.sha256()
        self._pieces = pieces
        self._rest = memoryview(b"")

    def read(self, size: int) -> bytes:
        """See :class:`~dsv4_doctor.images.tar.Stream`."""
        parts: list[memoryview] = []
        left = size
        while left > 0:
            if not self._rest:
                piece = next(self._pieces, b"")
                if not piece:
                    break
                self.digest.update(piece)
                self._rest = memoryview(piece)
            part, self._rest = self._rest[:left], self._rest[left:]
            parts.append(part)
            left -= len(part)
        self.offset += size - left
        if self.offset > MAX_SIZE:
            raise BinaryError(self.name, self.offset, f"more than {MAX_SIZE >> 30} GiB in a layer")
        return b"".join(parts)

    def skip(self, size: int) -> None:
        """See :class:`~dsv4_doctor.images.tar.Stream`."""
        until = self.offset + size
        while self.offset < until:
            if not self.read(min(until - self.offset, _PIECE)):
                raise BinaryError(self.name, self.offset, "the tar is cut short within a file")


class _Found(NamedTuple):
    member: Member
    start: int | None = None
    code: bool = False
    machine: int | None = None


def read_layer(blob: Source, name: str, wanted: Callable[[str], bool]) -> Layer:
    """Read a layer from its beginning to its end.

    Args:
        blob: The layer as it is stored: a tar, plain or compressed with gzip or zstd.
        name: What errors call it.
        wanted: Whether the contents of a text of this name are asked for.

    Raises:
        BinaryError: It is damaged, or of another format.
    """
    compressed = hashlib.sha256()
    first = blob.peek(len(ZSTD))
    whole: Source = blob
    spool: Spool | None = None
    stored = _stored(blob, compressed.update)
    if first.startswith(GZIP):
        whole = inflated = GzipSource(blob, name)
        # Hashed apart: the inflater reads what it needs in pieces of its own.
        deque(stored, maxlen=0)
        passing = _Passing(name, inflated.blocks())
    elif first == ZSTD:
        whole = spool = Spool(name)
        passing = _Passing(name, _unzstd(stored, name))
    else:
        passing = _Passing(name, stored)
    found = _all(passing, spool, wanted)
    return Layer(
        digest=f"sha256:{compressed.hexdigest()}",
        diff_id=f"sha256:{passing.digest.hexdigest()}",
        size=blob.size,
        unpacked=passing.offset,
        entries=tuple(_entry(each, whole) for each in found),
    )


def plain(blob: Source, name: str) -> Iterator[bytes]:
    """Yield the tar of a layer, decompressed.

    Raises:
        BinaryError: It is damaged.
    """
    first = blob.peek(len(ZSTD))
    if first.startswith(GZIP):
        return GzipSource(blob, name).blocks()
    stored = _stored(blob, lambda _: None)
    return _unzstd(stored, name) if first == ZSTD else stored


def _all(passing: _Passing, spool: Spool | None, wanted: Callable[[str], bool]) -> list[_Found]:
    found: list[_Found] = []
    for member in members(passing):
        if len(found) >= MAX_MEMBERS:
            raise BinaryError(passing.name, member.offset, f"more than {MAX_MEMBERS} members")
        text = wanted(member.name) and member.size <= MAX_TEXT
        if member.kind == "file" and member.size and (text or may_hold_code(member.name)):
            found.append(_look(member, passing, spool, text))
        else:
            found.append(_Found(member))
    while passing.read(_PIECE):
        pass  # What follows the end of a tar is part of its digest.
    return found


def _look(member: Member, passing: _Passing, spool: Spool | None, text: bool) -> _Found:
    """Look at the content of a file as it passes by."""
    start = spool.size if spool is not None else member.offset
    first, before, code = b"", b"", False
    left = member.size
    while left > 0:
        piece = passing.read(min(left, _PIECE))
        if not piece:
            raise BinaryError(passing.name, passing.offset, "the tar is cut short within a file")
        first = first or piece[:_ENOUGH]
        likely = first.startswith(_OBJECTS) or member.name.endswith(".cubin")
        code = code or (likely and FATBIN in before + piece)
        before = piece[-len(FATBIN) :]
        # Only what can hold device code is worth a place on the disk.
        if spool is not None and (likely or text):
            spool.write(piece)
        left -= len(piece)
    machine = int.from_bytes(first[18:_ENOUGH], "little") if first.startswith(ELF) else None
    code = code or (member.name.endswith(".cubin") and machine is not None)
    return _Found(member, start if code or text else None, code, machine)


def _entry(found: _Found, whole: Source) -> Entry:
    content = None
    if found.start is not None:
        name = f"{whole.name}: {found.member.name}"
        content = Window(whole, name, found.start, found.member.size)
    return Entry(found.member, content, found.code, found.machine)


def _stored(blob: Source, update: Callable[[bytes], object]) -> Iterator[bytes]:
    for at in range(0, blob.size, _PIECE):
        piece = blob.read(at, min(_PIECE, blob.size - at))
        update(piece)
        yield piece


def _unzstd(stored: Iterator[bytes], name: str) -> Iterator[bytes]:
    notes: list[str] = []
    try:
        yield from zstd_stream.decompress(stored, _PIECE, notes)
    except NoZstdError as error:
        raise BinaryError(name, 0, str(error)) from error
    if any(_DAMAGED in note for note in notes):
        raise BinaryError(name, 0, notes[0])
