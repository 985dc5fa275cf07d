"""Streaming decompression of zstd with whatever this machine has.

The same decoders as in :mod:`dsv4_doctor.binary.zstd`, which takes single frames of known size.
"""

from __future__ import annotations

import ctypes
import io
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dsv4_doctor.binary.c_buffer import c_buffer
from dsv4_doctor.binary.zstd import LIBRARY, NoZstdError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Decode = Callable[[Iterator[bytes], int], Iterator[bytes]]


def decompress(raw: Iterator[bytes], size: int, notes: list[str]) -> Iterator[bytes]:
    """Yield what zstd frames decompress to.

    Args:
        raw: The compressed bytes.
        size: Bytes to yield at a time, at most.
        notes: Gets a line when the data is damaged or cut short.

    Raises:
        NoZstdError: This machine has no decoder.
    """
    decode = _standard_library() or _c_library() or _zstandard(notes)
    if decode is None:
        raise NoZstdError
    try:
        yield from decode(raw, size)
    except _EndedError:
        notes.append("the zstd data is cut short; read up to its end")
    except ValueError as error:
        notes.append(f"the zstd data is damaged; read up to there: {error}")


class _EndedError(Exception):
    """The data ends within a frame."""


def _standard_library() -> Decode | None:
    module: Any = _module("compression.zstd") or _module("backports.zstd")
    if module is None:
        return None

    def decode(raw: Iterator[bytes], size: int) -> Iterator[bytes]:
        decoder = module.ZstdDecompressor()
        try:
            for data in raw:
                rest = data
                while rest or not (decoder.needs_input or decoder.eof):
                    if decoder.eof:
                        decoder = module.ZstdDecompressor()
                    if out := decoder.decompress(rest, size):
                        yield out
                    rest = decoder.unused_data if decoder.eof else b""
        except module.ZstdError as error:
            raise ValueError(str(error)) from error
        if not decoder.eof:
            raise _EndedError

    return decode


def _zstandard(notes: list[str]) -> Decode | None:
    module: Any = _module("zstandard")
    if module is None:
        return None
    notes.append("read with the package zstandard, which does not tell whether zstd data is whole")

    def decode(raw: Iterator[bytes], size: int) -> Iterator[bytes]:
        # Its object for pushing data has no limit on what one push gives; a reader has.
        with module.ZstdDecompressor().stream_reader(_Joined(raw), read_across_frames=True) as all_:
            try:
                while out := all_.read(size):
                    yield out
            except module.ZstdError as error:
                raise ValueError(str(error)) from error

    return decode


class _Joined(io.RawIOBase):
    """A file to read from what an iterator yields."""

    def __init__(self, raw: Iterator[bytes]) -> None:
        self._raw = raw
        self._rest = b""

    def readable(self) -> bool:
        """Whether it can be read, as asked for by users of files."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, none at the end."""
        if not self._rest:
            self._rest = next(self._raw, b"")
        end = len(self._rest) if size < 0 else size
        data, self._rest = self._rest[:end], self._rest[end:]
        return data


class _Buffer(ctypes.Structure):
    """``ZSTD_inBuffer`` and ``ZSTD_outBuffer``, which have the same layout."""

    _fields_ = (
        ("place", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
        ("at", ctypes.c_size_t),
    )


def _c_library() -> Decode | None:
    try:
        library = ctypes.CDLL(LIBRARY)
        create, free, step = (
            library.ZSTD_createDStream,
            library.ZSTD_freeDStream,
            library.ZSTD_decompressStream,
        )
        failed, explain = library.ZSTD_isError, library.ZSTD_getErrorName
    except (OSError, AttributeError):
        return None
    create.restype = ctypes.c_void_p
    free.argtypes = [ctypes.c_void_p]
    step.restype = ctypes.c_size_t
    step.argtypes = [ctypes.c_void_p, ctypes.POINTER(_Buffer), ctypes.POINTER(_Buffer)]
    failed.argtypes = [ctypes.c_size_t]
    explain.argtypes = [ctypes.c_size_t]
    explain.restype = ctypes.c_char_p

    def decode(raw: Iterator[bytes], size: int) -> Iterator[bytes]:
        state = create()
        room = c_buffer(size)
        left = 0
        try:
            for data in raw:
                given = _Buffer(ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p), len(data), 0)
                full = True
                while given.at < given.size or full:
                    out = _Buffer(ctypes.cast(room, ctypes.c_void_p), size, 0)
                    left = step(state, ctypes.byref(out), ctypes.byref(given))
                    if failed(left):
                        raise ValueError(explain(left).decode("ascii", "replace"))
                    # A full buffer may hide more that the library still holds.
                    full = bool(left) and out.at == size
                    if out.at:
                        yield ctypes.string_at(room, out.at)
        finally:
            free(state)
        if left:
            raise _EndedError

    return decode


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None
