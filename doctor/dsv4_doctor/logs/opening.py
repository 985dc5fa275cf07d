"""Bytes of a log from a file or a pipe, decompressed as they come."""

from __future__ import annotations

import bz2
import lzma
import zlib
from typing import IO, TYPE_CHECKING, Protocol

from dsv4_doctor.logs import zstd_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Bytes read at a time, and at most given out at a time.
CHUNK = 1 << 20

_GZIP, _ZSTD, _XZ, _BZIP2 = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\x00", b"BZh"


class _Decompressor(Protocol):
    """What ``bz2`` and ``lzma`` have in common."""

    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...
    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...


def chunks(stream: IO[bytes], notes: list[str]) -> Iterator[bytes]:
    """Yield the content of a log, at most ``CHUNK`` bytes at a time.

    What is compressed is known by its first bytes, not by its name. A compressed file that is cut
    short or damaged gives what could be read of it, and a note.

    Args:
        stream: Opened for reading bytes; a pipe will do.
        notes: Gets what a reader of the result must know of how the log was read.

    Raises:
        NoZstdError: It is compressed with zstd and this machine has no decoder.
    """
    first = stream.read(CHUNK)
    raw = _raw(stream, first)
    if first.startswith(_GZIP):
        yield from _gzip(raw, notes)
    elif first.startswith(_XZ):
        yield from _streamed(raw, lzma.LZMADecompressor, "xz", notes)
    elif first.startswith(_BZIP2):
        yield from _streamed(raw, bz2.BZ2Decompressor, "bzip2", notes)
    elif first.startswith(_ZSTD):
        yield from zstd_stream.decompress(raw, CHUNK, notes)
    else:
        yield from raw


def compressed(first: bytes) -> bool:
    """Whether a file that begins so is compressed in a way that can be read."""
    return first.startswith((_GZIP, _ZSTD, _XZ, _BZIP2))


def _raw(stream: IO[bytes], first: bytes) -> Iterator[bytes]:
    data = first
    while data:
        yield data
        data = stream.read(CHUNK)


def _gzip(raw: Iterator[bytes], notes: list[str]) -> Iterator[bytes]:
    decoder = zlib.decompressobj(wbits=31)
    try:
        for data in raw:
            rest = data
            while rest:
                if decoder.eof:
                    # Log rotation and parallel compressors put several members into one file.
                    decoder = zlib.decompressobj(wbits=31)
                if out := decoder.decompress(rest, CHUNK):
                    yield out
                rest = decoder.unused_data if decoder.eof else decoder.unconsumed_tail
    except zlib.error as error:
        notes.append(f"the gzip data is damaged; read up to there: {error}")
        return
    if not decoder.eof:
        notes.append("the gzip data is cut short; read up to its end")


def _streamed(
    raw: Iterator[bytes], make: Callable[[], _Decompressor], kind: str, notes: list[str]
) -> Iterator[bytes]:
    decoder = make()
    try:
        for data in raw:
            rest = data
            while rest or not (decoder.needs_input or decoder.eof):
                if decoder.eof:
                    decoder = make()
                if out := decoder.decompress(rest, CHUNK):
                    yield out
                rest = decoder.unused_data if decoder.eof else b""
    except (OSError, ValueError, EOFError, lzma.LZMAError) as error:
        notes.append(f"the {kind} data is damaged; read up to there: {error}")
        return
    if not decoder.eof:
        notes.append(f"the {kind} data is cut short; read up to its end")
