"""Finding and reading what a fleet left behind: a directory, files, JSON lines, standard input."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from dsv4_doctor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

STDIN = "-"
_LINES = (".jsonl", ".ndjson")
SUFFIXES = (".json", *_LINES)
# One host's document is some tens of kilobytes.
MAX_SIZE = 16 << 20


@dataclass(frozen=True)
class Place:
    """A file with one document, or with one on each line.

    Attributes:
        path: ``None`` for standard input.
        origin: What messages call it.
    """

    path: Path | None
    origin: str


@dataclass(frozen=True)
class Document:
    """One document, read but not understood.

    Attributes:
        origin: File, and line where the file holds several.
        stem: Name of the file without its suffix; empty where the file holds several.
        data: Its JSON object, ``None`` where there is none.
        reason: Why there is none.
    """

    origin: str
    stem: str
    data: dict[str, Any] | None
    reason: str = ""


def places(paths: Sequence[str]) -> Iterator[Place]:
    """Find every file there is to read, directories searched through, each directory sorted.

    Raises:
        InputError: A path does not exist, said before any file is found.
    """
    for text in paths:
        if text != STDIN:
            try:
                Path(text).stat()
            except OSError as error:
                msg = f"{text}: {error.strerror or error}"
                raise InputError(msg) from error
    return _found(paths)


def _found(paths: Iterable[str]) -> Iterator[Place]:
    for text in paths:
        if text == STDIN:
            yield Place(None, "<stdin>")
        elif Path(text).is_dir():
            yield from _within(text)
        else:
            yield Place(Path(text), text)


def _within(directory: str) -> Iterator[Place]:
    for place, directories, names in os.walk(directory):
        directories.sort()
        for name in sorted(each for each in names if each.endswith(SUFFIXES)):
            path = Path(place, name)
            if path.is_file():
                yield Place(path, str(path))


def read(place: Place) -> Iterator[Document]:
    """Read one file; what cannot be read is a document with a reason."""
    if place.path is None:
        yield from _read_lines(sys.stdin.buffer, place.origin)
        return
    try:
        with place.path.open("rb") as file:
            if place.path.suffix in _LINES:
                yield from _read_lines(file, place.origin)
            else:
                yield parse(file.read(MAX_SIZE + 1), place.origin, place.path.stem)
    except OSError as error:
        yield Document(place.origin, place.path.stem, None, error.strerror or str(error))


def _read_lines(file: IO[bytes], origin: str) -> Iterator[Document]:
    number = 0
    while line := file.readline(MAX_SIZE + 1):
        number += 1
        if line.strip():
            yield parse(line, f"{origin}:{number}", "")
        while line and not line.endswith(b"\n"):
            # The rest of a line that is too long.
            line = file.readline(MAX_SIZE)


def parse(raw: bytes, origin: str, stem: str) -> Document:
    """Read one JSON object from bytes."""
    if len(raw) > MAX_SIZE:
        return Document(origin, stem, None, f"larger than {MAX_SIZE >> 20} MiB")
    try:
        data = json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return Document(origin, stem, None, f"not UTF-8 text (byte {error.start})")
    except (ValueError, RecursionError) as error:
        return Document(origin, stem, None, f"not JSON, or cut short: {error}")
    if not isinstance(data, dict):
        return Document(origin, stem, None, "not a JSON object")
    return Document(origin, stem, data)
