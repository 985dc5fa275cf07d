"""One file with all sources of a build, for a machine without a network: the same bytes each time.

The bytes depend on the sources alone: not on when, where, by whom, by which git or how the cache
was filled. With compression they also depend on the compressor, whose name the suffix is.
"""

from __future__ import annotations

import gzip
import lzma
import tarfile
import tempfile
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from dsv4_build.publish import sha256
from dsv4_build.sources import manifest, packfile, vendor
from dsv4_build.sources.manifest import Manifest, PackedArchive, PackedRepository
from dsv4_doctor.errors import BuildError, UsageError
from dsv4_doctor.files import atomically

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsv4_build.sources.git import Repository
    from dsv4_build.sources.model import Archive, Pin
    from dsv4_build.sources.store import Store
    from dsv4_build.sources.vendor import Crate

SCHEMA = "dsv4-doctor/packed-sources/1"

SUFFIXES = (".tar", ".tar.gz", ".tar.xz")


@dataclass(frozen=True)
class Packed:
    """A bundle that was written.

    Attributes:
        size: In bytes.
        inside: Bytes of all that is in it.
    """

    path: str
    sha256: str
    size: int
    inside: int
    repositories: int
    archives: int

    def to_json(self) -> dict[str, Any]:
        """Return it in the schema ``dsv4-doctor/packed-sources/1``."""
        return {"schema": SCHEMA, **asdict(self)}


def pack(
    store: Store,
    archives: Iterable[Archive],
    pins: Iterable[Pin],
    target: Path,
    crates: Iterable[Crate] = (),
) -> Packed:
    """Write a bundle.

    Raises:
        UsageError: The name of the file tells no known form.
        BuildError: The cache is broken, or the file cannot be written.
    """
    if not target.name.endswith(SUFFIXES):
        msg = f"{target}: a bundle is called {', '.join(f'NAME{each}' for each in SUFFIXES)}"
        raise UsageError(msg)
    try:
        store.root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".pack-", dir=store.root) as name:
            content, files = _collect(store, archives, pins, crates, Path(name))
            target.parent.mkdir(parents=True, exist_ok=True)
            atomically(target, lambda file: _write(file, target.name, content, files))
        return Packed(
            str(target),
            sha256(target),
            target.stat().st_size,
            content.size,
            len(content.repositories),
            len(content.archives),
        )
    except OSError as error:
        msg = f"{target}: cannot be written: {error.strerror or error}"
        raise BuildError(msg) from error


def _collect(
    store: Store,
    archives: Iterable[Archive],
    pins: Iterable[Pin],
    crates: Iterable[Crate],
    scratch: Path,
) -> tuple[Manifest, list[Path]]:
    by_digest = {each.sha256: each for each in archives}
    kept = [by_digest[digest] for digest in sorted(by_digest)]
    repositories = {str(each.path): each for each in (store.repository(pin.url) for pin in pins)}
    wanted: dict[str, dict[str, Pin]] = {}
    for pin in pins:
        wanted.setdefault(str(store.repository(pin.url).path), {})[pin.commit] = pin
    packed = [
        _repository(store, repositories[path], wanted[path], scratch / f"{number}.pack")
        for number, path in enumerate(sorted(wanted))
    ]
    rust = sorted({crate.sha256: crate for crate in crates}.values(), key=lambda each: each.sha256)
    files = [store.path(each) for each in kept]
    files += [vendor.place(store, each.sha256) for each in rust]
    files += [scratch / f"{number}.pack" for number in range(len(packed))]
    listed = [PackedArchive(each.file, each.sha256, each.size) for each in kept]
    for each in rust:
        size = vendor.place(store, each.sha256).stat().st_size
        listed.append(PackedArchive(each.file, each.sha256, size))
    return Manifest(tuple(listed), tuple(packed)), files


def _repository(
    store: Store, repository: Repository, pins: dict[str, Pin], file: Path
) -> PackedRepository:
    revisions = {pin.revision for pin in pins.values() if pin.revision != pin.commit}
    tags = {name: oid for name, oid in repository.tags().items() if name in revisions}
    packfile.write(repository, sorted({*pins, *tags.values()}), file)
    return PackedRepository(
        place=str(repository.path.relative_to(store.root / "git")),
        commits={commit: pins[commit].tree for commit in sorted(pins)},
        tags=tags,
        sha256=sha256(file),
        size=file.stat().st_size,
    )


def _write(file: IO[bytes], name: str, content: Manifest, files: list[Path]) -> None:
    table = content.to_bytes()
    members = [each.member for each in content.members]
    with (
        _compressed(file, name) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        with tempfile.TemporaryFile() as first:
            first.write(table)
            first.seek(0)
            archive.addfile(_member(manifest.NAME, len(table)), first)
        for member, path in zip(members, files, strict=True):
            with path.open("rb") as source:
                archive.addfile(_member(member, path.stat().st_size), source)


def _member(name: str, size: int) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.size, made.mode, made.mtime = size, 0o644, 0
    return made


@contextmanager
def _compressed(file: IO[bytes], name: str) -> Iterator[IO[bytes]]:
    if name.endswith(".xz"):
        with lzma.LZMAFile(file, "wb", preset=2) as stream:
            yield cast("IO[bytes]", stream)
    elif name.endswith(".gz"):
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as stream:
            yield cast("IO[bytes]", stream)
    else:
        yield file
