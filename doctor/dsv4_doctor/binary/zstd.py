"""Decompression of zstd frames with whatever this machine has, since Python 3.13 has nothing.

In order: the standard library (from 3.14), its backport, the package ``zstandard``, the C library
itself, which every Debian and Red Hat system has because their package managers need it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

from dsv4_doctor.binary.c_buffer import c_buffer

if TYPE_CHECKING:
    from types import ModuleType

# Takes the frame and the announced size; returns at most one byte more than announced.
Decoder: TypeAlias = Callable[[bytes, int], memoryview]

_LIBRARY = "libzstd.so.1"
_PIECE = 1 << 20


class NoZstdError(Exception):
    """This machine has no zstd decoder."""

    def __init__(self) -> None:
        super().__init__(
            f"no zstd decoder: neither compression.zstd (Python 3.14), backports.zstd nor "
            f"zstandard can be imported, and there is no {_LIBRARY}"
        )


def decompress(data: bytes, size: int) -> memoryview:
    """Return the decompressed frame.

    Args:
        data: One zstd frame.
        size: Bytes that it must decompress to; never more are kept.

    Raises:
        NoZstdError: There is no decoder.
        ValueError: The frame is damaged, or its length is another.
    """
    decode = decoder()
    if decode is None:
        raise NoZstdError
    out = decode(data, size)
    if len(out) != size:
        msg = f"{len(out)} bytes came out where {size} were announced"
        raise ValueError(msg)
    return out


@cache
def decoder() -> Decoder | None:
    """Return the first decoder that this machine has."""
    for find in (_standard_library, _zstandard, _c_library):
        found = find()
        if found is not None:
            return found
    return None


def _standard_library() -> Decoder | None:
    module = _module("compression.zstd") or _module("backports.zstd")
    if module is None:
        return None

    def decode(data: bytes, size: int) -> memoryview:
        frame = module.ZstdDecompressor()

        def read(piece: int) -> bytes:
            nonlocal data
            if frame.eof or (not data and frame.needs_input):
                return b""
            out: bytes = frame.decompress(data, max_length=piece)
            data = b""
            return out

        try:
            return _collect(read, size)
        except module.ZstdError as error:
            raise ValueError(str(error)) from error

    return decode


def _zstandard() -> Decoder | None:
    module = _module("zstandard")
    if module is None:
        return None

    def decode(data: bytes, size: int) -> memoryview:
        # Its one-shot call would allocate whatever the frame itself claims; a reader does not.
        try:
            with module.ZstdDecompressor().stream_reader(data) as reader:
                return _collect(reader.read, size)
        except module.ZstdError as error:
            raise ValueError(str(error)) from error

    return decode


def _c_library() -> Decoder | None:
    try:
        library = ctypes.CDLL(_LIBRARY)
        call, failed, explain = (
            library.ZSTD_decompress,
            library.ZSTD_isError,
            library.ZSTD_getErrorName,
        )
    except (OSError, AttributeError):
        return None
    call.restype = ctypes.c_size_t
    call.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    failed.restype = ctypes.c_uint
    failed.argtypes = [ctypes.c_size_t]
    explain.restype = ctypes.c_char_p
    explain.argtypes = [ctypes.c_size_t]

    def decode(data: bytes, size: int) -> memoryview:
        # Without a copy: the largest image seen has 65 MB.
        buffer = c_buffer(size)
        written: int = call(buffer, size, data, len(data))
        if failed(written):
            raise ValueError(explain(written).decode("ascii", "replace"))
        return memoryview(buffer).cast("B")[:written]

    return decode


def _collect(read: Callable[[int], bytes], size: int) -> memoryview:
    """Put pieces into one buffer; a decoder that collects them itself needs twice the memory."""
    out, done = memoryview(c_buffer(size + 1)).cast("B"), 0
    while done <= size:
        piece = read(min(_PIECE, size + 1 - done))
        if not piece:
            break
        out[done : done + len(piece)] = piece
        done += len(piece)
    return out[:done]


def _module(name: str) -> ModuleType | None:
    try:
        return import_module(name)
    except ImportError:
        return None
