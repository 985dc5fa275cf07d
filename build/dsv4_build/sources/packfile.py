"""A git pack whose bytes depend on its objects alone.

git's own packs depend on its version, on the number of threads and on how the objects came: which
of them it stores as differences. Here every object is whole and not compressed, in the order of
the ids; what is saved by compression is saved once, over the whole bundle.

The format is that of gitformat-pack(5), version 2.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from dsv4_build.streams import run_on_files
from dsv4_doctor.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from dsv4_build.sources.git import Repository

_TYPES = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}

# The longest block that deflate stores without compression.
_STORED = 0xFFFF

# Seconds for git to write out the objects of one repository.
_LIMIT = 1800.0


@dataclass(frozen=True)
class GitObject:
    """One object of a repository."""

    oid: str
    kind: str
    content: bytes


def write(repository: Repository, roots: Sequence[str], target: Path) -> int:
    """Write a pack with everything that these commits and tags hold, without their history.

    Args:
        roots: Ids of commits and of tag objects.
        target: The file, in a directory for scratch files.

    Returns:
        The number of objects.

    Raises:
        BuildError: An object is missing or broken.
    """
    names, raw = target.with_suffix(".names"), target.with_suffix(".raw")
    oids = _listed(repository, roots, names)
    names.write_text("".join(f"{oid}\n" for oid in oids))
    argv = ["git", f"--git-dir={repository.path}", "cat-file", "--batch", "--buffer"]
    run_on_files(argv, names, raw, limit=_LIMIT)
    digest = hashlib.sha1(usedforsecurity=False)
    with raw.open("rb") as source, target.open("wb") as file:
        for part in _parts(source, len(oids)):
            digest.update(part)
            file.write(part)
        file.write(digest.digest())
    names.unlink()
    raw.unlink()
    return len(oids)


def _listed(repository: Repository, roots: Sequence[str], scratch: Path) -> list[str]:
    revisions = scratch.with_suffix(".roots")
    revisions.write_text("".join(f"{root}\n" for root in roots))
    options = ["--objects", "--no-object-names", "--no-walk", "--stdin"]
    argv = ["git", f"--git-dir={repository.path}", "rev-list", *options]
    run_on_files(argv, revisions, scratch, limit=_LIMIT)
    revisions.unlink()
    return sorted({*scratch.read_text().split(), *roots})


def _parts(source: IO[bytes], count: int) -> Iterator[bytes]:
    yield b"PACK" + struct.pack(">II", 2, count)
    for each in objects(source):
        yield header(_TYPES[each.kind], len(each.content))
        yield from stored(each.content)


def objects(source: IO[bytes]) -> Iterator[GitObject]:
    """Yield the objects that ``git cat-file --batch`` wrote, each with its id computed anew.

    Raises:
        BuildError: One is missing or is not what its id says.
    """
    while line := source.readline():
        words = line.decode("ascii", "replace").split()
        if len(words) != 3 or words[1] not in _TYPES:
            msg = f"the cache lacks an object: {' '.join(words)}"
            raise BuildError(msg, hint="dsv4-doctor sources verify")
        oid, kind, size = words[0], words[1], int(words[2])
        content = source.read(size)
        source.read(1)
        made = hashlib.sha1(f"{kind} {size}\0".encode() + content, usedforsecurity=False)
        if made.hexdigest() != oid:
            msg = f"the cache has a broken object: {oid}"
            raise BuildError(msg, hint="dsv4-doctor sources verify")
        yield GitObject(oid, kind, content)


def header(kind: int, size: int) -> bytes:
    """Return the first bytes of an object: its type, and its size seven bits at a time."""
    first, size = kind << 4 | size & 0xF, size >> 4
    made = bytearray()
    while size:
        made.append(first | 0x80)
        first, size = size & 0x7F, size >> 7
    made.append(first)
    return bytes(made)


def stored(content: bytes) -> Iterator[bytes]:
    """Yield a zlib stream that holds the content as it is: the same from every zlib."""
    yield b"\x78\x01"
    last = max((len(content) - 1) // _STORED * _STORED, 0)
    for start in range(0, last + 1, _STORED):
        block = content[start : start + _STORED]
        yield struct.pack("<BHH", start == last, len(block), len(block) ^ 0xFFFF)
        yield block
    yield struct.pack(">I", zlib.adler32(content))
