"""Finding the objects inside whatever the user names: a file, a library, a wheel, a directory."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor.binary.marks import AR, ELF, FATBIN, ZIP, may_hold_code
from dsv4_doctor.binary.source import BinaryError, DiskFile
from dsv4_doctor.errors import InputError
from dsv4_doctor.lazy_dataclass import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsv4_doctor.binary.source import Source

_OBJECT = (ELF, FATBIN)
_MARKS = (*_OBJECT, AR)


@dataclass(frozen=True)
class Opened:
    """One object, ready to be read, or the reason why not.

    Attributes:
        name: Relative to what the user named; the whole path when that is the object itself.
        content: Its bytes, or why it cannot be opened.
        packed: Whether its bytes lie in a wheel, so that the first look at them takes a while.
    """

    name: str
    content: Source | InputError
    packed: bool = False


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
        first = source.peek(max(map(len, _MARKS)))
        if first.startswith(ZIP):
            # A check looks at objects on disk, and does not wait for what reads archives.
            from dsv4_doctor.binary import wheel  # noqa: PLC0415

            yield [
                replace(each, packed=True)
                for pair in wheel.members(path, source, _MARKS)
                for each in expand(*pair)
            ]
        elif first.startswith(_MARKS):
            yield list(expand(str(path), source))
        else:
            msg = f"{path}: neither ELF, nor a fat binary, a static library, a wheel or a directory"
            raise InputError(msg)


@contextmanager
def open_files(root: Path, names: Iterable[str]) -> Iterator[list[Opened]]:
    """Open those of some files that can hold device code; closed on leaving.

    Args:
        root: What the names are relative to.
        names: Files, such as a distribution lists them; those that are gone are left out.
    """
    seen: set[Path] = set()
    with ExitStack() as stack:
        yield [
            each
            for name in names
            if may_hold_code(name)
            for each in _once(root, root / name, seen, stack)
        ]


def _directory(root: Path, stack: ExitStack) -> Iterator[Opened]:
    seen: set[Path] = set()
    for folder, folders, files in os.walk(root):
        folders.sort()
        for name in sorted(files):
            path = Path(folder, name)
            if may_hold_code(name):
                yield from _once(root, path, seen, stack)


def _once(root: Path, path: Path, seen: set[Path], stack: ExitStack) -> Iterator[Opened]:
    # libfoo.so -> libfoo.so.1 is one library, and a device file must not be opened.
    real = path.resolve()
    if real not in seen and path.is_file():
        seen.add(real)
        yield from _file(root, path, stack)


def _file(root: Path, path: Path, stack: ExitStack) -> Iterator[Opened]:
    label = os.path.relpath(path, root)
    try:
        if path.stat().st_size < len(ELF):
            return
        source = stack.enter_context(DiskFile(path))
    except (OSError, InputError) as error:
        yield Opened(label, error if isinstance(error, InputError) else InputError(str(error)))
        return
    if source.peek(len(AR)).startswith(_MARKS):
        yield from expand(label, source)


def expand(name: str, content: Source | InputError) -> Iterator[Opened]:
    """Yield an object, or the members of a static library."""
    if isinstance(content, InputError):
        yield Opened(name, content)
        return
    try:
        if _is_object(content):
            yield Opened(name, content)
            return
        from dsv4_doctor.binary import ar  # noqa: PLC0415 - as with wheels

        for member in ar.members(content):
            if _is_object(member):
                yield Opened(f"{name}{member.name.removeprefix(content.name)}", member)
    except BinaryError as error:
        yield Opened(name, error)


def _is_object(source: Source) -> bool:
    return source.peek(max(map(len, _OBJECT))).startswith(_OBJECT)
