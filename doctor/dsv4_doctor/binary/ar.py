"""The members of a static library (``ar`` archive), in the GNU and BSD variants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.binary.marks import AR
from dsv4_doctor.binary.source import BinaryError, Window

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.binary.source import Source

_HEADER_SIZE = 60
_HEADER_END = b"`\n"
_OWNER = slice(16, 48)
# Symbol indices and the table of long names, which are no members.
_INDICES = ("/", "/SYM64/", "__.SYMDEF", "__.SYMDEF SORTED")
_LONG_NAMES = "//"


def members(archive: Source) -> Iterator[Source]:
    """Yield every member, named ``ARCHIVE(MEMBER)``.

    Raises:
        BinaryError: The archive is damaged.
    """
    names = b""
    for header, body, start in _walk(archive):
        name = header[:16].decode("ascii", "replace").rstrip(" ")
        if name == _LONG_NAMES:
            names = body.read(0, body.size)
        elif name not in _INDICES:
            yield _member(archive, body, name, names, start)


def owners(archive: Source) -> Iterator[bytes]:
    """Yield what the header of every member says of time, owner and mode.

    Raises:
        BinaryError: The archive is damaged.
    """
    return (header[_OWNER] for header, _, _ in _walk(archive))


def _walk(archive: Source) -> Iterator[tuple[bytes, Source, int]]:
    """Yield header, content and offset of the content of all that is in an archive."""
    position = len(AR)
    while position < archive.size:
        header = archive.read(position, _HEADER_SIZE)
        if not header.endswith(_HEADER_END):
            raise BinaryError(archive.name, position, "no header of an archive member")
        start, size = position + _HEADER_SIZE, _number(archive.name, position, header[48:58])
        yield header, Window(archive, archive.name, start, size), start
        position = start + size + size % 2


def _member(archive: Source, body: Source, name: str, names: bytes, start: int) -> Source:
    skip = 0
    if name.startswith("#1/"):
        skip = _number(archive.name, start, name[3:].encode())
        name = body.read(0, skip).rstrip(b"\0").decode("utf-8", "replace")
    elif name.startswith("/"):
        at = _number(archive.name, start, name[1:].encode())
        name = names[at:].split(b"\n", 1)[0].decode("utf-8", "replace")
    label = f"{archive.name}({name.rstrip('/')})"
    return Window(body, label, skip, body.size - skip)


def _number(name: str, position: int, text: bytes) -> int:
    digits = text.strip()
    if not digits.isdigit():
        raise BinaryError(name, position, f"not a number: {digits[:16]!r}")
    return int(digits)
