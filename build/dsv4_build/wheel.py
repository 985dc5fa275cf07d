"""Writing a wheel in one form, so that the same files always give the same bytes."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import stat
import time
import zipfile
import zlib
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import IO, TYPE_CHECKING

from dsv4_doctor.errors import BuildError
from dsv4_doctor.files import atomically

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

# The level that zlib itself calls its default; another one changes every byte.
LEVEL = 6

_CHUNK = 1 << 20
_BROKEN = (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, NotImplementedError)


@dataclass(frozen=True)
class _Member:
    """A file of the wheel with what RECORD says of it.

    Attributes:
        content: Of one that is added; ``None`` for one that the wheel has.
    """

    info: zipfile.ZipInfo
    content: bytes | None = None
    digest: str = ""
    size: int = 0

    def open(self, source: zipfile.ZipFile) -> IO[bytes]:
        """Open what it holds."""
        return source.open(self.info) if self.content is None else io.BytesIO(self.content)

    def counted(self, source: zipfile.ZipFile) -> _Member:
        """Return it with its digest and size."""
        total, size = hashlib.sha256(), 0
        with self.open(source) as file:
            while block := file.read(_CHUNK):
                total.update(block)
                size += len(block)
        encoded = base64.urlsafe_b64encode(total.digest()).rstrip(b"=").decode()
        return replace(self, digest=encoded, size=size)

    @property
    def row(self) -> tuple[str, str, str]:
        return self.info.filename, f"sha256={self.digest}", str(self.size)


def normalise(
    wheel: Path, target: Path, epoch: int, metadata: Mapping[str, bytes] = MappingProxyType({})
) -> None:
    """Write a wheel anew: names sorted, one time, one set of modes, RECORD in the same order.

    ``target`` appears in one piece or not at all.

    Args:
        epoch: Time of every member, in seconds.
        metadata: Files for its ``.dist-info`` directory, by name below it.

    Raises:
        BuildError: The wheel cannot be read, or the target not be written.
    """
    try:
        with zipfile.ZipFile(wheel) as source:
            record, members = _members(source, metadata)
            target.parent.mkdir(parents=True, exist_ok=True)
            atomically(target, lambda file: _write(file, source, members, record, epoch))
    except _BROKEN as error:
        msg = f"{wheel}: cannot be written anew as {target}: {error}"
        raise BuildError(msg) from error


def _members(source: zipfile.ZipFile, metadata: Mapping[str, bytes]) -> tuple[str, list[_Member]]:
    infos = [info for info in source.infolist() if not info.is_dir()]
    names = [info.filename for info in infos]
    records = [name for name in names if name.endswith(".dist-info/RECORD")]
    if len(records) != 1 or len(set(names)) != len(names):
        msg = "no wheel: it needs one RECORD, and every name once"
        raise ValueError(msg)
    directory = records[0].removesuffix("RECORD")
    added = {f"{directory}{name}": content for name, content in metadata.items()}
    if not added.keys().isdisjoint(names):
        msg = f"it has {', '.join(sorted(added.keys() & set(names)))} already"
        raise ValueError(msg)
    members = [_Member(zipfile.ZipInfo(name), content) for name, content in added.items()]
    members += [_Member(info) for info in infos if info.filename != records[0]]
    members.sort(key=_order)
    return records[0], [each.counted(source) for each in members]


def _order(member: _Member) -> tuple[bool, str]:
    # The wheel specification wants the metadata at the end of the archive.
    return ".dist-info/" in member.info.filename, member.info.filename


def _write(
    file: IO[bytes],
    source: zipfile.ZipFile,
    members: Sequence[_Member],
    record: str,
    epoch: int,
) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as archive:
        for member in members:
            mode = 0o755 if member.info.external_attr >> 16 & 0o111 else 0o644
            info = _info(member.info.filename, epoch, mode)
            info.file_size = member.size
            with member.open(source) as old, archive.open(info, "w") as new:
                _pump(old, new.write)
        archive.writestr(_info(record, epoch, 0o644), _record(members, record))


def _record(members: Sequence[_Member], record: str) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([*(member.row for member in members), (record, "", "")])
    return text.getvalue().encode()


def _info(name: str, epoch: int, mode: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, time.gmtime(epoch)[:6])
    info.create_system = 3
    info.external_attr = (stat.S_IFREG | mode) << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def _pump(file: IO[bytes], take: Callable[[bytes], object]) -> None:
    while block := file.read(_CHUNK):
        take(block)
