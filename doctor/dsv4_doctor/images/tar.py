"""The members of a layer's tar, read as they pass by, in bounded memory.

The standard library's reader takes an extended header of any size that a file claims, and gives no
access to what passes by; this one is for bytes that nobody vouches for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from dsv4_doctor.binary.source import BinaryError

if TYPE_CHECKING:
    from collections.abc import Iterator

Kind: TypeAlias = Literal["file", "directory", "link", "symlink", "other"]

BLOCK = 512

# Names of files in images have some hundred bytes.
_MAX_EXTENSION = 1 << 20
_KINDS: dict[bytes, Kind] = {
    **dict.fromkeys((b"0", b"\0", b"7"), "file"),
    b"1": "link",
    b"2": "symlink",
    b"5": "directory",
}
_PAX, _PAX_GLOBAL, _GNU_NAME, _GNU_LINK = b"x", b"g", b"L", b"K"
_RECORD = re.compile(rb"([0-9]{1,7}) ")


class Stream(Protocol):
    """Bytes that pass by once.

    Attributes:
        name: What errors call them.
        offset: How many have passed.
    """

    name: str
    offset: int

    def read(self, size: int) -> bytes:
        """Return so many bytes, fewer only at the end."""
        ...

    def skip(self, size: int) -> None:
        """Let so many bytes pass.

        Raises:
            BinaryError: They do not all exist.
        """
        ...


@dataclass(frozen=True)
class Member:
    """One member of a tar.

    Attributes:
        name: Relative to the root, without ``./`` at its beginning.
        offset: Where its content starts.
        size: Bytes of its content.
        link: What a link leads to, as it stands there.
        mode: Permissions.
        time: Modification time, in seconds.
    """

    name: str
    kind: Kind
    offset: int
    size: int
    link: str
    mode: int
    time: int


def members(stream: Stream) -> Iterator[Member]:
    """Yield every member; whoever takes one may read its content before asking for the next.

    Raises:
        BinaryError: The tar is damaged or cut short, or a name leads out of it.
    """
    said: dict[str, str] = {}
    while True:
        at = stream.offset
        header = stream.read(BLOCK)
        if not header or header.count(0) == len(header):
            return
        if len(header) < BLOCK:
            raise BinaryError(stream.name, at, "the tar is cut short within a header")
        _check(stream.name, at, header)
        kind, size = header[156:157], _number(stream.name, at, header[124:136])
        if kind in {_PAX, _PAX_GLOBAL, _GNU_NAME, _GNU_LINK}:
            if size > _MAX_EXTENSION:
                reason = f"an extended header of {size} bytes"
                raise BinaryError(stream.name, at, reason)
            content = _content(stream, size)
            # What holds for all members is never a name or a size in a layer.
            said.update({} if kind == _PAX_GLOBAL else _extension(stream.name, at, kind, content))
            continue
        member = _member(stream, at, header, said)
        said = {}
        yield member
        stream.skip(member.offset + -(-member.size // BLOCK) * BLOCK - stream.offset)


def _member(stream: Stream, at: int, header: bytes, said: dict[str, str]) -> Member:
    kind: Kind = _KINDS.get(header[156:157], "other")
    if any(key.startswith("GNU.sparse.") for key in said):
        kind = "other"  # Its content is not what its bytes are.
    size = _number(stream.name, at, header[124:136])
    if "size" in said:
        size = int(said["size"]) if said["size"].isascii() and said["size"].isdigit() else -1
    if size < 0:
        raise BinaryError(stream.name, at, "a member of no readable size")
    if kind not in {"file", "other"}:
        size = 0
    name = said.get("path") or _name(header)
    return Member(
        name=relative(stream.name, at, name),
        kind=kind,
        offset=stream.offset,
        size=size,
        link=said.get("linkpath") or _text(header[157:257]),
        mode=_number(stream.name, at, header[100:108]) & 0o7777,
        time=_number(stream.name, at, header[136:148]),
    )


def relative(source: str, at: int, name: str) -> str:
    """Return a name relative to the root of the image.

    Raises:
        BinaryError: It leads out of it.
    """
    parts = [part for part in name.split("/") if part not in {"", "."}]
    if ".." in parts:
        raise BinaryError(source, at, f"the name {name[:80]!r} leads out of the image")
    return "/".join(parts)


def _name(header: bytes) -> str:
    name = _text(header[0:100])
    # The prefix is POSIX's; GNU's own format has other things there.
    if header[257:263] == b"ustar\0" and header[345:346] != b"\0":
        return f"{_text(header[345:500])}/{name}"
    return name


def _text(field: bytes) -> str:
    return field.split(b"\0", 1)[0].decode("utf-8", "surrogateescape")


def _check(name: str, at: int, header: bytes) -> None:
    claimed = _number(name, at, header[148:156])
    rest = header[:148] + b" " * 8 + header[156:]
    if claimed != sum(rest):
        raise BinaryError(name, at, "no tar header: its checksum is another")


def _number(name: str, at: int, field: bytes) -> int:
    if field[0] in {0x80, 0xFF}:
        return int.from_bytes(field[1:], "big", signed=field[0] == 0xFF)
    digits = field.split(b"\0", 1)[0].strip(b" ")
    if not digits:
        return 0
    try:
        if digits.isdigit():
            return int(digits, 8)
    except ValueError:
        pass
    raise BinaryError(name, at, f"not an octal number: {digits[:12]!r}")


def _content(stream: Stream, size: int) -> bytes:
    at = stream.offset
    padded = -(-size // BLOCK) * BLOCK
    content = stream.read(padded)
    if len(content) < padded:
        raise BinaryError(stream.name, at, "the tar is cut short within an extended header")
    return content[:size]


def _extension(name: str, at: int, kind: bytes, content: bytes) -> dict[str, str]:
    if kind == _GNU_NAME:
        return {"path": _text(content)}
    if kind == _GNU_LINK:
        return {"linkpath": _text(content)}
    found: dict[str, str] = {}
    position = 0
    while position < len(content):
        match = _RECORD.match(content, position)
        end = position + int(match[1]) if match else 0
        if match is None or not match.end() < end <= len(content):
            raise BinaryError(name, at, "a damaged extended header")
        key, _, value = content[match.end() : end - 1].partition(b"=")
        found[key.decode("utf-8", "replace")] = value.decode("utf-8", "surrogateescape")
        position = end
    return found
