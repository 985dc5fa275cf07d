"""Every file of a wheel, a directory or a single file, to be compared with another one's."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.binary import wheel
from dsv4_doctor.binary.inflate import Blocks
from dsv4_doctor.binary.marks import ZIP
from dsv4_doctor.binary.source import BinaryError, DiskFile, Memory
from dsv4_doctor.errors import InputError

if TYPE_CHECKING:
    import zipfile
    from collections.abc import Iterator

    from dsv4_doctor.binary.source import Source


@dataclass(frozen=True)
class Entry:
    """One file.

    Attributes:
        size: In bytes.
        content: Its bytes, or why it cannot be read.
        checksum: CRC-32 that the archive gives, ``None`` outside of archives.
    """

    size: int
    content: Source | InputError
    checksum: int | None = None


@contextmanager
def open_tree(path: Path) -> Iterator[dict[str, Entry]]:
    """Open every file below a path by name; a single file has the empty name.

    Raises:
        InputError: The path itself cannot be read.
    """
    with ExitStack() as stack:
        if path.is_dir():
            yield dict(_directory(path))
            return
        source = stack.enter_context(DiskFile(path))
        if _is_zip(source):
            blocks = Blocks()
            yield {
                info.filename: _member(source, info, blocks)
                for info in wheel.directory(path)
                if not info.filename.endswith("/")
            }
        else:
            yield {"": Entry(source.size, source)}


def is_zip(path: Path) -> bool:
    """Whether a path is a zip file, such as a wheel."""
    if path.is_dir():
        return False
    with DiskFile(path) as source:
        return _is_zip(source)


def _is_zip(source: Source) -> bool:
    return source.peek(len(ZIP)) == ZIP


def _member(archive: Source, info: zipfile.ZipInfo, blocks: Blocks) -> Entry:
    try:
        content = wheel.open_member(archive, info, blocks)
    except BinaryError as error:
        return Entry(info.file_size, error, info.CRC)
    return Entry(info.file_size, content, info.CRC)


def _directory(root: Path) -> Iterator[tuple[str, Entry]]:
    for folder, folders, files in os.walk(root):
        folders.sort()
        for name in sorted(files):
            path = Path(folder, name)
            if not path.is_file():
                continue
            label = str(path.relative_to(root))
            try:
                size = path.stat().st_size
                yield label, Entry(size, DiskFile(path) if size else Memory(str(path), b""))
            except (OSError, InputError) as error:
                wrong = error if isinstance(error, InputError) else InputError(str(error))
                yield label, Entry(0, wrong)
