"""What differs between two builds of one image, layer by layer and file by file."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dsv4_doctor.images.layer import plain
from dsv4_doctor.images.layout import open_image
from dsv4_doctor.images.tar import members

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dsv4_doctor.binary.source import Source
    from dsv4_doctor.images.tar import Member

_SHOWN = 20


@dataclass(frozen=True)
class File:
    """What one build has at a path."""

    member: Member
    sha256: str


def differences(first: Path, second: Path) -> list[str]:
    """Return lines on what differs, empty when both layouts have one digest.

    Raises:
        InputError: One of them is damaged.
    """
    with open_image(first) as one, open_image(second) as other:
        if one.digest == other.digest:
            return []
        lines = [f"manifest {one.digest} and {other.digest}"]
        for number, pair in enumerate(itertools.zip_longest(one.layers, other.layers)):
            lines += _layer(number, *pair)
        if one.config != other.config:
            keys = sorted({*one.config, *other.config})
            different = [k for k in keys if one.config.get(k) != other.config.get(k)]
            lines.append(f"configuration: {', '.join(different)}")
        return lines


def _layer(
    number: int, one: tuple[str, Source] | None, other: tuple[str, Source] | None
) -> Iterator[str]:
    if one is None or other is None:
        yield f"layer {number} is in one of them only"
        return
    if one[0] == other[0]:
        return
    left, right = _files(one[1]), _files(other[1])
    names = sorted(name for name in {*left, *right} if left.get(name) != right.get(name))
    yield f"layer {number}: {len(names)} paths differ"
    for name in names[:_SHOWN]:
        yield f"  {name}: {_why(left.get(name), right.get(name))}"
    if len(names) > _SHOWN:
        yield f"  and {len(names) - _SHOWN} more"
    if not names:
        yield "  the same files in another order, or compressed in another way"


def _why(one: File | None, other: File | None) -> str:
    if one is None or other is None:
        return "in one of them only"
    if one.sha256 != other.sha256:
        return f"its content ({one.member.size} and {other.member.size} bytes)"
    if one.member.time != other.member.time:
        return f"its time ({one.member.time} and {other.member.time})"
    if one.member.mode != other.member.mode:
        return f"its permissions ({one.member.mode:o} and {other.member.mode:o})"
    return "its kind, or what it links to"


def _files(source: Source) -> dict[str, File]:
    stream = _Stream(source.name, plain(source, source.name))
    found: dict[str, File] = {}
    for member in members(stream):
        total = hashlib.sha256()
        left = member.size if member.kind == "file" else 0
        while left > 0 and (piece := stream.read(min(left, 1 << 20))):
            total.update(piece)
            left -= len(piece)
        # Where it lies in the tar follows from what lies before it.
        placed = type(member)(**{**vars(member), "offset": 0})
        found[member.name] = File(placed, total.hexdigest())
    return found


class _Stream:
    """See :class:`~dsv4_doctor.images.tar.Stream`."""

    def __init__(self, name: str, pieces: Iterator[bytes]) -> None:
        self.name = name
        self.offset = 0
        self._pieces = pieces
        self._rest = b""

    def read(self, size: int) -> bytes:
        while len(self._rest) < size and (piece := next(self._pieces, b"")):
            self._rest += piece
        data, self._rest = self._rest[:size], self._rest[size:]
        self.offset += len(data)
        return data

    def skip(self, size: int) -> None:
        while size > 0 and (data := self.read(min(size, 1 << 20))):
            size -= len(data)
