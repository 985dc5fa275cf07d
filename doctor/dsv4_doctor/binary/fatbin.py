"""NVIDIA's fat binaries: the containers that hold machine code and PTX for several GPUs.

The format is not documented by NVIDIA. The layout is known from public reverse engineering
(RWTH-ACS/cricket, ``cpu/cpu-elf2.c``); the flags for compression and for the suffixes ``a`` and
``f`` were calibrated against objects compiled with nvcc 13.0.88 for sm_75 to sm_121f in every
``--compress-mode``, and against what cuobjdump 13.2.86 lists for them::

    container  u32 magic, u16 version, u16 header size, u64 size of all entries
    entry      u16 kind, u16 version, u32 header size, u64 payload size, u32 compressed size,
               u32 offset of options, u16 minor, u16 major, u32 arch, u32 and u32 object name,
               u64 flags, u64 reserved, u64 decompressed size; then options and name
    payload    follows its header; padded to 8 bytes

Only headers are read here, never a payload.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from dsv4_doctor.arch import Arch
from dsv4_doctor.binary.source import BinaryError, check_range

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.binary.source import Source

Kind: TypeAlias = Literal["cubin", "ptx", "lto", "other"]
Compression: TypeAlias = Literal["none", "lz4", "zstd"]

MAGIC = 0xBA55ED50
VERSION = 1
CONTAINER = struct.Struct("<IHHQ")
ENTRY = struct.Struct("<HHIQIIHHIIIQQQ")

_KINDS: dict[int, Kind] = {1: "ptx", 2: "cubin", 8: "lto"}
_LZ4 = 0x2000
_ZSTD = 0x8000
_ARCH_SPECIFIC = 0x100000
_FAMILY_SPECIFIC = 0x200000

_ALIGNMENT = 8
_PADDING_STEP = 4096
# libcublasLt 13.1, the fullest library seen, has 5,449.
_MAX_IMAGES = 200_000


class Image(NamedTuple):
    """One entry of a container; a tuple, because a check makes a thousand of them.

    Attributes:
        kind: ``cubin`` (machine code), ``ptx``, ``lto`` (for link-time optimisation), ``other``.
        arch: What it is compiled for.
        isa: PTX ISA version such as ``9.0``, ``None`` for other kinds.
        compression: Of its payload.
        header: Offset of its header, for messages.
        offset: Offset of its payload.
        stored: Bytes that the payload takes in the file, without padding.
        size: Bytes of the payload once decompressed, as the header claims.
        container: Offset of the fat binary that it is in. The driver chooses one image of each.
    """

    kind: Kind
    arch: Arch
    isa: str | None
    compression: Compression
    header: int
    offset: int
    stored: int
    size: int
    container: int = 0


def read_containers(source: Source, start: int, size: int) -> Iterator[Image]:
    """Yield the images of all containers in a range, in the order of the file.

    Args:
        source: The file.
        start: Where the section with the containers starts.
        size: Of that section.

    Raises:
        BinaryError: The range does not hold what its headers claim.
    """
    check_range(source, start, size)
    position, end, count = start, start + size, 0
    while end - position >= CONTAINER.size:
        magic, version, header, body = CONTAINER.unpack(source.read(position, CONTAINER.size))
        if magic != MAGIC:
            position = _skip_padding(source, position, end)
            continue
        if version != VERSION or header < CONTAINER.size:
            raise BinaryError(source.name, position, f"fat binary of unknown version {version}")
        if header + body > end - position:
            reason = f"truncated: a fat binary of {header + body} bytes ends outside its section"
            raise BinaryError(source.name, position, reason)
        for image in _entries(source, position, header, body):
            count += 1
            if count > _MAX_IMAGES:
                raise BinaryError(source.name, image.header, f"more than {_MAX_IMAGES} images")
            yield image
        position += header + body
    if source.read(position, end - position).strip(b"\0"):
        raise BinaryError(source.name, position, "neither a fat binary nor padding")


def _entries(source: Source, container: int, head: int, body: int) -> Iterator[Image]:
    position = container + head
    end = position + body
    while position < end:
        if end - position < ENTRY.size:
            raise BinaryError(source.name, position, "truncated: half an entry of a fat binary")
        fields = ENTRY.unpack(source.read(position, ENTRY.size))
        header, payload = fields[2], fields[3]
        if header < ENTRY.size or header + payload > end - position:
            reason = f"an entry of {header} + {payload} bytes does not fit into its fat binary"
            raise BinaryError(source.name, position, reason)
        yield _image(source.name, container, position, fields)
        position += header + payload


def _image(name: str, container: int, position: int, fields: tuple[int, ...]) -> Image:
    kind_number, _, header, payload, compressed, _, minor, major, number, _, _, flags, _, size = (
        fields
    )
    kind = _KINDS.get(kind_number, "other")
    compression = _compression(name, position, flags)
    if compression == "none":
        stored = size = payload
    else:
        stored = compressed
    if stored > payload:
        reason = f"{stored} compressed bytes in a payload of {payload}"
        raise BinaryError(name, position, reason)
    return Image(
        kind=kind,
        arch=_arch(name, position, number, flags),
        isa=f"{major}.{minor}" if kind == "ptx" else None,
        compression=compression,
        header=position,
        offset=position + header,
        stored=stored,
        size=size,
        container=container,
    )


def _compression(name: str, position: int, flags: int) -> Compression:
    if flags & _LZ4 and flags & _ZSTD:
        raise BinaryError(name, position, f"two compressions at once in flags {flags:#x}")
    if flags & _ZSTD:
        return "zstd"
    return "lz4" if flags & _LZ4 else "none"


def _arch(name: str, position: int, number: int, flags: int) -> Arch:
    if not 10 <= number <= 999:
        raise BinaryError(name, position, f"architecture number {number}")
    if flags & _ARCH_SPECIFIC and flags & _FAMILY_SPECIFIC:
        raise BinaryError(name, position, f"both suffixes, a and f, in flags {flags:#x}")
    suffix = "a" if flags & _ARCH_SPECIFIC else "f" if flags & _FAMILY_SPECIFIC else ""
    return _shared(number, suffix)


@cache
def _shared(number: int, suffix: str) -> Arch:
    # A library has a thousand images for a handful of architectures.
    return Arch(number, suffix)


def _skip_padding(source: Source, position: int, end: int) -> int:
    # The linker fills the space between the sections of its input files with zeros.
    while position < end:
        block = source.read(position, min(_PADDING_STEP, end - position))
        rest = block.lstrip(b"\0")
        if rest:
            zeros = len(block) - len(rest)
            if zeros < _ALIGNMENT:
                raise BinaryError(source.name, position, "neither a fat binary nor padding")
            return position + zeros - zeros % _ALIGNMENT
        position += len(block)
    return position
