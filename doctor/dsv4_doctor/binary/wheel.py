"""The members of a wheel (or any zip file) that can hold device code, without unpacking it."""

from __future__ import annotations

import struct
import zipfile
from typing import TYPE_CHECKING

from dsv4_doctor.binary.inflate import Blocks, Claim, DeflatedMember
from dsv4_doctor.binary.marks import ZIP, may_hold_code
from dsv4_doctor.binary.source import BinaryError, Window
from dsv4_doctor.binary.tap import HeaderTap

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dsv4_doctor.binary.source import Source

_LOCAL_HEADER = struct.Struct("<4s22xHH")
_ENCRYPTED = 0x1
# The largest wheels on PyPI are below 5 GB; a directory that claims more is a bomb or a mistake.
_MAX_INFLATED = 64 << 30


def members(
    path: Path, archive: Source, wanted: tuple[bytes, ...]
) -> Iterator[tuple[str, Source | BinaryError]]:
    """Yield name and content of the members whose first bytes are one of the wanted marks.

    A member that cannot be opened comes as its error: the others can still be looked at.

    Args:
        path: The zip file.
        archive: The same file, as a source.
        wanted: Marks of the formats to look for.

    Raises:
        BinaryError: The file is no zip file, or its directory is damaged.
    """
    claimed, blocks = 0, Blocks()
    for info in directory(path):
        if not may_hold_code(info.filename):
            continue
        claimed += info.file_size
        if claimed > _MAX_INFLATED:
            reason = f"its members would inflate to more than {_MAX_INFLATED >> 30} GiB"
            raise BinaryError(archive.name, info.header_offset, reason)
        try:
            source = open_member(archive, info, blocks)
            matches = source.peek(max(map(len, wanted))).startswith(wanted)
        except BinaryError as error:
            yield info.filename, error
            continue
        if matches:
            yield info.filename, source


def directory(path: Path) -> list[zipfile.ZipInfo]:
    """Return what the directory of a zip file lists.

    Raises:
        BinaryError: It is no zip file, or damaged.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError, EOFError) as error:
        raise BinaryError(str(path), 0, f"not a readable zip file: {error}") from error
    except (struct.error, IndexError, OverflowError) as error:
        raise BinaryError(str(path), 0, f"damaged zip directory: {error}") from error


def open_member(archive: Source, info: zipfile.ZipInfo, blocks: Blocks | None = None) -> Source:
    """Return a member's bytes.

    Args:
        archive: The zip file.
        info: The member.
        blocks: What keeps the blocks inflated last, for all members together.

    Raises:
        BinaryError: It is encrypted, compressed in an unusual way, or not where it should be.
    """
    # zipfile reads members only from their start; where their data begins stands in the local
    # header alone, whose name and extra field may be longer than those of the directory.
    at, name = info.header_offset, f"{archive.name}: {info.filename}"
    mark, name_length, extra_length = _LOCAL_HEADER.unpack(archive.read(at, _LOCAL_HEADER.size))
    if mark != ZIP:
        raise BinaryError(name, at, "the zip directory points to where no member is")
    if info.flag_bits & _ENCRYPTED:
        raise BinaryError(name, at, "encrypted")
    start = at + _LOCAL_HEADER.size + name_length + extra_length
    if info.compress_type == zipfile.ZIP_STORED:
        return Window(archive, name, start, info.file_size)
    if info.compress_type != zipfile.ZIP_DEFLATED:
        reason = f"compressed by method {info.compress_type}, which wheels do not use"
        raise BinaryError(name, at, reason)
    claim = Claim(start, info.compress_size, info.file_size, info.CRC)
    return DeflatedMember(archive, name, claim, HeaderTap(), blocks)
