"""From an image's header to its bytes, decompressed, within limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.binary import lz4, zstd
from dsv4_doctor.binary.elf import MACHINE_CUDA, read_elf
from dsv4_doctor.binary.source import BinaryError, Memory

if TYPE_CHECKING:
    from dsv4_doctor.binary.fatbin import Image
    from dsv4_doctor.binary.source import Source

# The largest image in the wheels of vLLM 0.7.2, 0.24.0 and 0.33.0 and in torch 2.11.0 has 65 MB.
LIMIT = 128 << 20


class UndecodedError(Exception):
    """An image cannot be decompressed here, which says nothing about what is in it."""


def load(source: Source, image: Image) -> Source:
    """Return the payload of an image, decompressed.

    Raises:
        BinaryError: It is damaged, or not as long as its header says.
        UndecodedError: It is larger than :data:`LIMIT`, or there is no decoder for it.
    """
    if image.size > LIMIT:
        msg = f"larger than {LIMIT >> 20} MiB once decompressed"
        raise UndecodedError(msg)
    stored = source.read(image.offset, image.stored)
    data: bytes | bytearray | memoryview = stored
    try:
        if image.compression == "lz4":
            data = lz4.decompress(stored, image.size)
        elif image.compression == "zstd":
            data = zstd.decompress(stored, image.size)
    except zstd.NoZstdError as error:
        raise UndecodedError(str(error)) from error
    except ValueError as error:
        reason = f"damaged {image.compression} data in an image for {image.arch}: {error}"
        raise BinaryError(source.name, image.offset, reason) from error
    return Memory(f"{source.name}, image for {image.arch} at {image.header:#x}", data)


def read_kernels(source: Source, image: Image) -> list[tuple[str, int]]:
    """Return mangled name and code size in bytes of every kernel in a cubin.

    Raises:
        BinaryError: It is damaged.
        UndecodedError: It cannot be decompressed here.
    """
    elf = read_elf(load(source, image))
    if elf.machine != MACHINE_CUDA:
        reason = f"an image for {image.arch} is ELF for machine {elf.machine}, not for CUDA"
        raise BinaryError(source.name, image.offset, reason)
    return list(elf.kernels())
