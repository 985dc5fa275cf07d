"""Finding and reading what a fleet left behind: a directory, files, JSON lines, standard input."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from dsv4_doctor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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


def places(paths: Iterable[str]) -> list[Place]:
    """Return every file there is to read, directories searched through, sorted.

    Raises:
        InputError: A path does not exist, or a directory cannot be listed.
    """
    found: list[Place] = []
    for text in paths:
        if text == STDIN:
            found.append(Place(None, "<stdin>"))
            continue
        path = Path(text)
        try:
            found += _within(path) if path.is_dir() else [_single(path)]
        except OSError as error:
            msg = f"{path}: {error.strerror or error}"
            raise InputError(msg) from error
    return found


def _single(path: Path) -> Place:
    path.stat()
    return Place(path, str(path))


def _within(directory: Path) -> list[Place]:
    files = sorted(each for each in directory.rglob("*") if each.suffix in SUFFIXES)
    return [Place(each, str(each)) for each in files if each.is_file()]


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
