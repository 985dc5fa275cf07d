"""Opening an image: an OCI layout, or an archive as `docker save` and BuildKit write it."""

from __future__ import annotations

import hashlib
import json
import platform
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from dsv4_doctor.binary.source import BinaryError, DiskFile, Window
from dsv4_doctor.errors import InputError
from dsv4_doctor.images.packed import GZIP
from dsv4_doctor.images.tar import BLOCK, members

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.binary.source import Source

LAYOUT_FILE, INDEX_FILE, DOCKER_FILE = "oci-layout", "index.json", "manifest.json"
PREFIXES = ("oci:", "oci-archive:", "docker-archive:")

# Manifests and configurations have some kilobytes.
_MAX_DOCUMENT = 8 << 20
_MAX_MEMBERS = 100_000
_INDICES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}

Files: TypeAlias = "dict[str, Source]"


@dataclass(frozen=True)
class Opened:
    """An image whose documents were read.

    Attributes:
        path: As the user named it.
        digest: Of its manifest, with ``sha256:``; empty for an archive that has none.
        manifest: Parsed; empty for an archive that has none.
        config: Parsed.
        layers: Digest (of the blob, or of the tar in an archive that names those) and content.
    """

    path: str
    digest: str
    manifest: dict[str, Any]
    config: dict[str, Any]
    layers: tuple[tuple[str, Source], ...]


def is_image(path: Path) -> bool:
    """Whether a path is an OCI layout or an archive of an image; no error for anything else."""
    try:
        if path.is_dir():
            return (path / LAYOUT_FILE).is_file() and (path / INDEX_FILE).is_file()
        with DiskFile(path) as source:
            # Its first header decides whether anything more is read.
            if source.size < BLOCK or source.read(257, 5) != b"ustar":
                return False
            names = _archive(source)
            return DOCKER_FILE in names or LAYOUT_FILE in names
    except InputError:
        return False


@contextmanager
def open_image(path: Path) -> Iterator[Opened]:
    """Open an image; its layers can be read until this is left.

    Raises:
        InputError: There is none, or its documents are damaged.
    """
    with ExitStack() as stack:
        if path.is_dir():
            if not (path / INDEX_FILE).is_file():
                msg = f"{path}: no OCI layout: it has no {INDEX_FILE}"
                raise InputError(msg)
            yield _of_layout(str(path), _directory(path))
            return
        source = stack.enter_context(DiskFile(path))
        if source.peek(2).startswith(GZIP):
            msg = f"{path}: a compressed archive"
            raise InputError(msg, hint=f"gunzip it first: zcat {path} > image.tar")
        files = _archive(source)
        opened = _of_docker if INDEX_FILE not in files else _of_layout
        yield opened(str(path), files)


def _archive(source: Source) -> Files:
    found: Files = {}
    for number, member in enumerate(members(_Reader(source))):
        if number >= _MAX_MEMBERS:
            raise BinaryError(source.name, member.offset, f"more than {_MAX_MEMBERS} members")
        if member.kind == "file":
            label = f"{source.name}: {member.name}"
            found[member.name] = Window(source, label, member.offset, member.size)
        elif member.kind in {"link", "symlink"}:
            # `docker save` stores a layer that two images share once.
            target = str(Path(member.name).parent / member.link)
            for each in (member.link, _collapsed(target)):
                if each in found:
                    found[member.name] = found[each]
    return found


def _collapsed(path: str) -> str:
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in {"", "."}:
            parts.append(part)
    return "/".join(parts)


class _Reader:
    """A file from its beginning; what is skipped is not read."""

    def __init__(self, source: Source) -> None:
        self.name = source.name
        self.offset = 0
        self._source = source

    def read(self, size: int) -> bytes:
        """See :class:`~dsv4_doctor.images.tar.Stream`."""
        size = min(size, self._source.size - self.offset)
        data = self._source.read(self.offset, size)
        self.offset += size
        return data

    def skip(self, size: int) -> None:
        """See :class:`~dsv4_doctor.images.tar.Stream`."""
        if self.offset + size > self._source.size:
            raise BinaryError(self.name, self.offset, "the archive is cut short within a file")
        self.offset += size


def _directory(root: Path) -> Files:
    files = [root / INDEX_FILE, *root.glob("blobs/*/*")]
    return {str(file.relative_to(root)): DiskFile(file) for file in files if file.is_file()}


def _of_layout(path: str, files: Files) -> Opened:
    descriptor = _choose(path, files, _json(path, files, INDEX_FILE))
    manifest = _document(path, files, descriptor)
    config = _document(path, files, _dict(manifest.get("config")))
    layers = tuple(
        (str(each.get("digest")), _blob(path, files, each)) for each in _dicts(manifest, "layers")
    )
    return Opened(path, str(descriptor["digest"]), manifest, config, layers)


def _choose(path: str, files: Files, index: dict[str, Any], depth: int = 0) -> dict[str, Any]:
    """Return the descriptor of the one image that is meant: that for this machine, or the first."""
    # Attestations of a builder say that they are for no platform.
    found = [
        each
        for each in _dicts(index, "manifests")
        if _dict(each.get("platform")).get("os") != "unknown" and "artifactType" not in each
    ]
    if not found:
        msg = f"{path}: its index lists no image"
        raise InputError(msg)
    here = _MACHINES.get(platform.machine(), platform.machine())
    own = [each for each in found if _dict(each.get("platform")).get("architecture") == here]
    chosen = (own or found)[0]
    if chosen.get("mediaType") in _INDICES and depth == 0:
        return _choose(path, files, _document(path, files, chosen), depth + 1)
    return chosen


def _of_docker(path: str, files: Files) -> Opened:
    listed = _json(path, files, DOCKER_FILE)
    first = _dict(listed[0]) if isinstance(listed, list) and listed else {}
    names = first.get("Layers")
    if not isinstance(names, list) or "Config" not in first:
        msg = f"{path}: {DOCKER_FILE} names no image; is it an archive of `docker save`?"
        raise InputError(msg)
    config = _json(path, files, str(first["Config"]))
    if not isinstance(config, dict):
        config = {}
    diff_ids = _dict(config.get("rootfs")).get("diff_ids")
    said = diff_ids if isinstance(diff_ids, list) and len(diff_ids) == len(names) else names
    layers = tuple(
        (str(digest), _file(path, files, str(name)))
        for digest, name in zip(said, names, strict=True)
    )
    return Opened(path, "", {}, config, layers)


def _document(path: str, files: Files, descriptor: dict[str, Any]) -> dict[str, Any]:
    """Return a document that a descriptor points to, if it is the one that its digest says."""
    source = _blob(path, files, descriptor)
    digest = str(descriptor["digest"])
    if source.size > _MAX_DOCUMENT:
        msg = f"{path}: the document {digest} has {source.size} bytes"
        raise InputError(msg)
    data = source.read(0, source.size)
    if f"sha256:{hashlib.sha256(data).hexdigest()}" != digest:
        msg = f"{path}: the document {digest} has other bytes than its digest says"
        raise InputError(msg)
    return _dict(_parse(path, digest, data))


def _blob(path: str, files: Files, descriptor: dict[str, Any]) -> Source:
    digest = str(descriptor.get("digest"))
    return _file(path, files, f"blobs/{digest.replace(':', '/')}")


def _file(path: str, files: Files, name: str) -> Source:
    if name not in files:
        msg = f"{path}: {name[:120]} is not in it; was it copied whole?"
        raise InputError(msg)
    return files[name]


def _json(path: str, files: Files, name: str) -> Any:
    source = _file(path, files, name)
    if source.size > _MAX_DOCUMENT:
        msg = f"{path}: {name} has {source.size} bytes"
        raise InputError(msg)
    return _parse(path, name, source.read(0, source.size))


def _parse(path: str, name: str, data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        msg = f"{path}: {name}: not JSON: {error}"
        raise InputError(msg) from error


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _dicts(document: Any, key: str) -> list[dict[str, Any]]:
    listed = _dict(document).get(key)
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
