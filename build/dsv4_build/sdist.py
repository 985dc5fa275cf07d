"""Reading and unpacking a source distribution, whatever its bytes are."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from dsv4_build.publish import sha256
from dsv4_doctor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

# Everything that reading a broken archive has been seen to raise.
_BROKEN = (tarfile.TarError, EOFError, zlib.error, OSError, ValueError, LookupError)

# Python 3.10 and 3.11 have it from 3.10.12 and 3.11.4 on.
_HAS_FILTER = hasattr(tarfile, "data_filter")


@dataclass(frozen=True)
class Metadata:
    """What an sdist says of itself.

    Attributes:
        time: Modification time of its PKG-INFO, in seconds.
        sha256: Digest of the archive.
    """

    name: str
    version: str
    time: int
    sha256: str


def metadata(path: Path) -> Metadata:
    """Read the PKG-INFO at the top of an sdist.

    Raises:
        InputError: No readable sdist.
    """
    with _opened(path) as archive:
        member, content = _member(archive, "PKG-INFO")
        if member is None:
            msg = f"{path}: no sdist: it has no PKG-INFO"
            raise InputError(msg)
        headers = HeaderParser().parsestr(content)
        return Metadata(
            name=str(headers.get("Name", "")),
            version=str(headers.get("Version", "")),
            time=int(member.mtime),
            sha256=sha256(path),
        )


def text(path: Path, name: str) -> str:
    """Return a file at the top of an sdist.

    Raises:
        InputError: No readable sdist, or it has no such file.
    """
    with _opened(path) as archive:
        member, content = _member(archive, name)
        if member is None:
            msg = f"{path}: it has no {name}"
            raise InputError(msg)
        return content


def _member(archive: tarfile.TarFile, name: str) -> tuple[tarfile.TarInfo | None, str]:
    for member in archive:
        parts = PurePosixPath(member.name).parts
        if len(parts) == 2 and parts[1] == name and member.isfile():
            file = archive.extractfile(member)
            return member, file.read().decode("utf-8", "replace") if file is not None else ""
    return None, ""


def unpack(path: Path, target: Path) -> None:
    """Unpack the one directory of an sdist to ``target``, which must not exist.

    Raises:
        InputError: Broken, or it would write outside the target.
    """
    with (
        tempfile.TemporaryDirectory(prefix=".unpack-", dir=target.parent) as scratch,
        _opened(path) as archive,
    ):
        for member in archive:
            _refuse_escape(path, member)
            _extract(archive, member, scratch)
        tops = list(Path(scratch).iterdir())
        if len(tops) != 1 or not tops[0].is_dir():
            msg = f"{path}: no sdist: it holds {len(tops)} things at its top, not one directory"
            raise InputError(msg)
        shutil.move(tops[0], target)


@contextmanager
def _opened(path: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(path) as archive:
            yield archive
    except _BROKEN as error:
        msg = f"{path}: cannot be read as an sdist: {error}"
        raise InputError(msg) from error


def _refuse_escape(path: Path, member: tarfile.TarInfo) -> None:
    name = PurePosixPath(member.name)
    if name.is_absolute() or ".." in name.parts or not (member.isfile() or _harmless(member)):
        msg = f"{path}: holds {member.name!r}, which does not belong in an sdist"
        raise InputError(msg)


def _harmless(member: tarfile.TarInfo) -> bool:
    """Whether a member that is no file may be unpacked.

    Where a link leads is judged by tarfile's own filter; a Python without it gets no links.
    """
    return member.isdir() or ((member.issym() or member.islnk()) and _HAS_FILTER)


def _extract(archive: tarfile.TarFile, member: tarfile.TarInfo, target: str) -> None:
    if _HAS_FILTER:
        archive.extract(member, target, filter="data")
    else:
        archive.extract(member, target)
