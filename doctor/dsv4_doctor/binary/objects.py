"""Finding the objects inside whatever the user names: a file, a library, a wheel, a directory."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.binary import ar, elf, wheel
from dsv4_doctor.binary.source import BinaryError, DiskFile
from dsv4_doctor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.binary.source import Source

_MARKS = (elf.MAGIC, ar.MAGIC)


@dataclass(frozen=True)
class Opened:
    """One object, ready to be read, or the reason why not.

    Attributes:
        name: Relative to what the user named; the whole path when that is the object itself.
        content: Its bytes, or why it cannot be opened.
    """

    name: str
    content: Source | InputError


@contextmanager
def open_objects(path: Path) -> Iterator[list[Opened]]:
    """Open everything below a path that can hold device code; closed on leaving.

    Raises:
        InputError: The path itself cannot be read, or is of no format that is known.
    """
    with ExitStack() as stack:
        if path.is_dir():
            yield list(_directory(path, stack))
            return
        source = stack.enter_context(DiskFile(path))
        first = source.read(0, min(source.size, max(map(len, _MARKS))))
        if first.startswith(wheel.MAGIC):
            yield [each for pair in wheel.members(path, source, _MARKS) for each in _expand(*pair)]
        elif first.startswith(_MARKS):
            yield list(_expand(str(path), source))
        else:
            msg = f"{path}: neither ELF, nor a static library, a wheel or a directory"
            raise InputError(msg)


def _directory(root: Path, stack: ExitStack) -> Iterator[Opened]:
    seen: set[Path] = set()
    for folder, folders, files in os.walk(root):
        folders.sort()
        for name in sorted(files):
            path = Path(folder, name)
            # libfoo.so -> libfoo.so.1 is one library, and a device file must not be opened.
            if not wheel.may_hold_code(name) or not path.is_file():
                continue
            real = path.resolve()
            if real in seen:
                continue
            seen.add(real)
            yield from _file(root, path, stack)


def _file(root: Path, path: Path, stack: ExitStack) -> Iterator[Opened]:
    label = str(path.relative_to(root))
    try:
        if path.stat().st_size < len(elf.MAGIC):
            return
        source = stack.enter_context(DiskFile(path))
    except (OSError, InputError) as error:
        yield Opened(label, error if isinstance(error, InputError) else InputError(str(error)))
        return
    if source.read(0, min(source.size, len(ar.MAGIC))).startswith(_MARKS):
        yield from _expand(label, source)


def _expand(name: str, content: Source | InputError) -> Iterator[Opened]:
    if isinstance(content, InputError):
        yield Opened(name, content)
        return
    try:
        if _is_elf(content):
            yield Opened(name, content)
            return
        for member in ar.members(content):
            if _is_elf(member):
                yield Opened(f"{name}{member.name.removeprefix(content.name)}", member)
    except BinaryError as error:
        yield Opened(name, error)


def _is_elf(source: Source) -> bool:
    return source.size >= len(elf.MAGIC) and source.read(0, len(elf.MAGIC)) == elf.MAGIC
