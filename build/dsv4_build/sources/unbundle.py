"""Reading a bundle that anybody may have made: nothing of it is believed before it is checked.

Everything is read into a directory of its own, every digest is compared, git checks every object
and every link between them; only then does anything reach the cache.
"""

from __future__ import annotations

import hashlib
import lzma
import shutil
import tarfile
import tempfile
import zlib
from pathlib import Path
from typing import IO, TYPE_CHECKING

from dsv4_build import sdist
from dsv4_build.process import ChildFailedError
from dsv4_build.sources import manifest, vendor, verify
from dsv4_build.sources.git import PINS, Repository
from dsv4_build.sources.store import Store
from dsv4_doctor.errors import BuildError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dsv4_build.sources.manifest import Manifest, PackedArchive, PackedRepository

_BROKEN = (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, OSError, ValueError, LookupError)
_BLOCK = 1 << 20


def unpack(
    store: Store, bundle: Path, environ: Mapping[str, str], say: Callable[[str], None]
) -> Manifest:
    """Put what a bundle holds into the cache, after all of it was checked.

    Args:
        environ: The caller's variables, for git.
        say: Takes progress lines.

    Raises:
        InputError: Broken, changed on the way, or no bundle.
        BuildError: The cache cannot be written, or git refuses an object.
    """
    if not bundle.is_file():
        msg = f"{bundle}: no such file"
        raise InputError(msg)
    try:
        store.root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"{store.root}: cannot be made: {error.strerror}"
        raise BuildError(msg) from error
    with tempfile.TemporaryDirectory(prefix=".import-", dir=store.root) as name:
        stage = Path(name)
        content, files = _read(bundle, stage)
        for each in content.archives:
            _check_archive(each, files[each.member], bundle)
        checked = [
            _check(each, files[each.member], bundle, environ) for each in content.repositories
        ]
        with store.locked(say):
            _refuse_moved_tags(store, content, bundle)
            for each in content.archives:
                if each.file.endswith(manifest.CRATE):
                    vendor.keep(store, each.sha256, files[each.member])
                else:
                    store.keep(files[each.member])
            for packed, repository in zip(content.repositories, checked, strict=True):
                _install(store, packed, repository, environ)
    return content


def _read(bundle: Path, stage: Path) -> tuple[Manifest, dict[str, Path]]:
    """Copy the members to numbered files, each compared with its size and its digest."""
    files: dict[str, Path] = {}
    try:
        with tarfile.open(bundle) as archive:
            first = archive.next()
            table = _open(archive, first, manifest.NAME, bundle).read(manifest.LIMIT + 1)
            if len(table) > manifest.LIMIT:
                msg = f"{bundle}: no readable bundle of sources: its {manifest.NAME} is too large"
                raise InputError(msg)
            content = manifest.read(table, str(bundle))
            _require_room(content, bundle, stage)
            for number, each in enumerate(content.members):
                source = _open(archive, archive.next(), each.member, bundle)
                files[each.member] = stage / str(number)
                _copy(source, files[each.member], each, bundle)
            if archive.next() is not None:
                msg = f"{bundle}: holds more than its {manifest.NAME} names"
                raise InputError(msg)
    except _BROKEN as error:
        reason = str(error).partition("\n")[0].rstrip(":")
        msg = f"{bundle}: no readable bundle of sources: {reason}"
        raise InputError(msg) from error
    return content, files


def _open(
    archive: tarfile.TarFile, member: tarfile.TarInfo | None, name: str, bundle: Path
) -> IO[bytes]:
    found = "its end" if member is None else repr(member.name)
    if member is None or member.name != name:
        msg = f"{bundle}: no readable bundle of sources: {found} where {name} has to be"
        raise InputError(msg)
    if member.type not in {tarfile.REGTYPE, tarfile.AREGTYPE}:
        msg = f"{bundle}: {found} is no plain file"
        raise InputError(msg)
    source = archive.extractfile(member)
    if source is None:
        msg = f"{bundle}: {found} cannot be read"
        raise InputError(msg)
    return source


def _copy(
    source: IO[bytes], target: Path, each: PackedArchive | PackedRepository, bundle: Path
) -> None:
    digest, size = hashlib.sha256(), 0
    with target.open("wb") as file:
        while size <= each.size and (block := source.read(_BLOCK)):
            size += len(block)
            digest.update(block)
            file.write(block)
    if size != each.size or digest.hexdigest() != each.sha256:
        msg = f"{bundle}: {each.member} is not what the bundle says: its SHA-256 or size differs"
        raise InputError(msg, hint="it was changed on the way: bring it anew")


def _require_room(content: Manifest, bundle: Path, stage: Path) -> None:
    free = shutil.disk_usage(stage).free
    # Once as it is read, and once more as git keeps it.
    if 2 * content.size > free:
        msg = f"{bundle}: needs {2 * content.size} bytes of disk; {stage.parent} has {free}"
        raise BuildError(msg)


def _check_archive(each: PackedArchive, file: Path, bundle: Path) -> None:
    if each.file.endswith(manifest.CRATE):
        # cargo compares it with the lock of the tree; here it has to be an archive that is safe.
        with tempfile.TemporaryDirectory(dir=file.parent) as scratch:
            sdist.unpack(file, Path(scratch) / "crate")
        return
    described = Store.describe(file)
    if described.file != each.file:
        msg = f"{bundle}: {each.file} is {described.name} {described.version}"
        raise InputError(msg)


def _check(
    each: PackedRepository, file: Path, bundle: Path, environ: Mapping[str, str]
) -> Repository:
    """Make a repository of a pack, and let git look at every object and link."""
    repository = Repository(file.with_suffix(".git"))
    repository.create()
    # A commit's parents are not in the pack: this is how git knows that that is meant.
    shallow = "".join(f"{commit}\n" for commit in sorted(each.commits))
    (repository.path / "shallow").write_text(shallow)
    pack = repository.path / "objects" / "pack" / f"pack-{each.sha256[:40]}.pack"
    pack.parent.mkdir(exist_ok=True)
    file.rename(pack)
    log = file.with_suffix(".log")
    try:
        repository.transfer("index-pack", str(pack), environ=environ, log=log)
        for commit, tree in each.commits.items():
            if repository.tree(commit) != tree:
                msg = f"{bundle}: {each.place} has no commit {commit} with tree {tree}"
                raise InputError(msg)
            repository.pin(commit)
        for tag, oid in each.tags.items():
            repository.tell("update-ref", f"refs/tags/{tag}", oid)
            if repository.commit(tag) not in each.commits:
                msg = f"{bundle}: {each.place}: tag {tag} is of no commit in the bundle"
                raise InputError(msg)
    except ChildFailedError as error:
        msg = f"{bundle}: {each.place} is broken: {next(iter(error.lines), error)}"
        raise InputError(msg) from error
    wrong = verify.check_repository(repository, log, environ)
    if wrong:
        msg = f"{bundle}: {each.place} is broken: {wrong}"
        raise InputError(msg)
    return repository


def _refuse_moved_tags(store: Store, content: Manifest, bundle: Path) -> None:
    for each in content.repositories:
        repository = Repository(store.root / "git" / each.place)
        known = repository.tags() if repository.exists() else {}
        for tag, oid in each.tags.items():
            if known.get(tag, oid) != oid:
                msg = f"{bundle}: {each.place}: tag {tag} is {oid}, and in the cache {known[tag]}"
                hint = f"one of both was moved; to trust the bundle, remove {repository.path}"
                raise InputError(msg, hint=hint)


def _install(
    store: Store, each: PackedRepository, checked: Repository, environ: Mapping[str, str]
) -> None:
    """Let git take over everything at once: objects first, then all names in one step."""
    target = Repository(store.root / "git" / each.place)
    target.create()
    names = (f"{PINS}/*:{PINS}/*", "refs/tags/*:refs/tags/*")
    options = ("--no-tags", "--update-shallow", "--atomic", "--no-write-fetch-head")
    uri = checked.path.as_uri()
    allowed = ("-c", "protocol.file.allow=always")
    target.transfer(*allowed, "fetch", *options, uri, *names, environ=environ, log=store.log)
    target.pin(min(each.commits))
