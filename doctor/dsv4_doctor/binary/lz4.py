"""Decoding of LZ4 blocks, which nvcc writes up to CUDA 12.7 and in ``--compress-mode=speed``.

The C library does it where it is installed, as it is wherever systemd is. Elsewhere a decoder in
Python does: the format (``lz4_Block_format.md`` in github.com/lz4/lz4) is small, and a dependency
that is not pure Python would keep the doctor from being packed into one file.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from dsv4_doctor.binary.c_buffer import c_buffer

# Takes the block and the announced size; never returns more.
Decoder: TypeAlias = Callable[[bytes, int], "bytearray | memoryview"]

_LIBRARY = "liblz4.so.1"
_MIN_MATCH = 4
_MORE = 15


def decompress(data: bytes, size: int) -> bytearray | memoryview:
    """Return the decompressed block.

    Args:
        data: One LZ4 block, without a frame around it.
        size: Bytes that it must decompress to; never more are produced.

    Raises:
        ValueError: The block is damaged, or its length is another.
    """
    out = (c_library() or in_python)(data, size)
    if len(out) != size:
        msg = f"{len(out)} bytes came out where {size} were announced"
        raise ValueError(msg)
    return out


@cache
def c_library() -> Decoder | None:
    """Return the C library's decoder, ``None`` where it is not installed."""
    try:
        call = ctypes.CDLL(_LIBRARY).LZ4_decompress_safe
    except (OSError, AttributeError):
        return None
    call.restype = ctypes.c_int
    call.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int]

    def decode(data: bytes, size: int) -> memoryview:
        buffer = c_buffer(size)
        written: int = call(data, buffer, len(data), size)
        if written < 0:
            raise _damaged(size)
        return memoryview(buffer).cast("B")[:written]

    return decode


def in_python(data: bytes, size: int) -> bytearray:
    """Decode without any library.

    Raises:
        ValueError: The block is damaged, or longer than announced.
    """
    try:
        return _sequences(data, size)
    except IndexError:
        raise _damaged(size) from None


def _sequences(data: bytes, size: int) -> bytearray:
    out = bytearray()
    position, end, reached = 0, len(data), 0
    while position < end:
        token = data[position]
        position += 1
        length = token >> 4
        if length == _MORE:
            length, position = _long(data, position)
        out += data[position : position + length]
        position += length
        if position >= end:
            break
        distance = data[position] | data[position + 1] << 8
        position += 2
        length = (token & 15) + _MIN_MATCH
        if length == _MORE + _MIN_MATCH:
            length, position = _long(data, position)
            length += _MIN_MATCH
        reached = len(out)
        start = reached - distance
        if reached + length > size or start < 0 or distance == 0:
            raise _damaged(size)
        if distance >= length:
            out += out[start : start + length]
        else:
            # A match that overlaps its own output repeats the last `distance` bytes.
            out += (out[start:] * (length // distance + 1))[:length]
    if position > end or len(out) > size:
        raise _damaged(size)
    return out


def _long(data: bytes, position: int) -> tuple[int, int]:
    length = _MORE
    while True:
        step = data[position]
        position += 1
        length += step
        if step != 255:
            return length, position


def _damaged(size: int) -> ValueError:
    return ValueError(f"a sequence reaches outside the block or past the {size} bytes announced")
