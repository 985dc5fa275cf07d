"""A vLLM source tree as text in memory, from an sdist or a directory; nothing is written."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import zlib
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from dsv4_doctor.errors import InputError
from dsv4_doctor.knowledge.extract.version import checkout_version

if TYPE_CHECKING:
    from collections.abc import Mapping

# Files that a fact can stand in; csrc/ is known by its names only.
_READ_SUFFIXES = (".py", ".cmake", ".toml", ".txt")
_READ_NAMES = frozenset(
    {"PKG-INFO", "CMakeLists.txt", "setup.py", "pyproject.toml", "Dockerfile", "docker/Dockerfile"}
)
_READ_TOPS = ("cmake", "docker", "requirements", "vllm")
_NEEDED = ("setup.py", "pyproject.toml", "CMakeLists.txt")
_LARGEST = 4 << 20
_LARGEST_WHOLE = 1 << 30

# Everything that reading a broken archive has been seen to raise.
_BROKEN = (tarfile.TarError, EOFError, zlib.error, OSError, ValueError, LookupError)


@dataclass(frozen=True)
class SourceTree:
    """The files of one vLLM tree that facts are read from.

    Attributes:
        path: The sdist or directory.
        version: What the tree says that it is, without a leading ``v``.
        sha256: Digest of the sdist, empty for a directory.
        content: Text of the files, by path inside the tree.
    """

    path: str
    version: str
    sha256: str
    content: Mapping[str, bytes]

    def text(self, name: str) -> str | None:
        """Return the text of one file, ``None`` when the tree has none of this name."""
        data = self.content.get(name)
        return None if data is None else data.decode("utf-8", "replace")


def open_tree(path: Path) -> SourceTree:
    """Read a vLLM sdist or checkout.

    Raises:
        InputError: It does not exist, is broken, holds paths that climb out, or is no vLLM.
    """
    if not path.exists():
        msg = f"{path}: no such file or directory"
        raise InputError(msg)
    content, digest = (_directory(path), "") if path.is_dir() else _sdist(path)
    missing = [name for name in _NEEDED if name not in content]
    if missing:
        msg = f"{path}: no source tree of vLLM: it has no {', '.join(missing)}"
        raise InputError(msg, hint="give a release's sdist, or a checkout of vllm-project/vllm")
    return SourceTree(str(path), _version(path, content), digest, content)


def _version(path: Path, content: Mapping[str, bytes]) -> str:
    metadata = content.get("PKG-INFO")
    if metadata is None:
        if b'name = "vllm"' not in content["pyproject.toml"] + content["setup.py"].replace(
            b'name="vllm"', b'name = "vllm"'
        ):
            msg = f"{path}: no source tree of vLLM: neither pyproject.toml nor setup.py names it"
            raise InputError(msg)
        return checkout_version(path)
    headers = HeaderParser().parsestr(metadata.decode("utf-8", "replace"))
    name, version = str(headers.get("Name", "")), str(headers.get("Version", ""))
    if name.lower() != "vllm" or not version:
        msg = f"{path}: a source tree of {name or 'something unnamed'}, not of vLLM"
        raise InputError(msg)
    return version


def _wanted(name: str, size: int) -> bool:
    if size > _LARGEST:
        return False
    if name in _READ_NAMES:
        return True
    parts = name.split("/")
    if len(parts) == 1:
        return name.endswith(".txt")
    return parts[0] in _READ_TOPS and name.endswith(_READ_SUFFIXES)


def _directory(path: Path) -> dict[str, bytes]:
    content: dict[str, bytes] = {}
    try:
        candidates = [each for each in path.iterdir() if each.is_file()]
        for top in _READ_TOPS:
            candidates += [each for each in (path / top).rglob("*") if each.is_file()]
        for file in candidates:
            name = file.relative_to(path).as_posix()
            if _wanted(name, file.stat().st_size):
                content[name] = file.read_bytes()
    except OSError as error:
        msg = f"{path}: cannot be read: {error}"
        raise InputError(msg) from error
    return content


def _sdist(path: Path) -> tuple[dict[str, bytes], str]:
    content: dict[str, bytes] = {}
    try:
        data = path.read_bytes()
        # At once and to its end, where the checksum stands: piece by piece takes three times as
        # long, and tarfile alone stops at its own end mark.
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as compressed:
            whole = compressed.read(_LARGEST_WHOLE + 1)
        if len(whole) > _LARGEST_WHOLE:
            msg = (
                f"{path}: unpacks to more than {_LARGEST_WHOLE >> 20} MiB, as no sdist of vLLM does"
            )
            raise InputError(msg)
        with tarfile.open(fileobj=io.BytesIO(whole), mode="r:") as archive:
            for member in archive:
                name = _inside(path, member)
                if name and member.isfile() and _wanted(name, member.size):
                    file = archive.extractfile(member)
                    content[name] = file.read() if file is not None else b""
    except _BROKEN as error:
        msg = f"{path}: cannot be read as an sdist: {error}"
        raise InputError(msg, hint="download it again, and compare its SHA-256") from error
    return content, hashlib.sha256(data).hexdigest()


def _inside(path: Path, member: tarfile.TarInfo) -> str:
    """Return the member's path below the archive's one directory."""
    name = PurePosixPath(member.name)
    if name.is_absolute() or ".." in name.parts:
        msg = f"{path}: holds {member.name!r}, which climbs out of the archive"
        raise InputError(msg)
    return "/".join(name.parts[1:])
