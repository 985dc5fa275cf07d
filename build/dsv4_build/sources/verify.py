"""Whether what the cache has is still what it says: every digest computed anew."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dsv4_build.process import ChildFailedError
from dsv4_build.publish import sha256
from dsv4_build.sources import vendor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from dsv4_build.sources.git import Repository
    from dsv4_build.sources.store import Store

CRATES = "crates"

SCHEMA = "dsv4-doctor/source-cache/1"

# What real histories have and no reader of the files minds; broken objects stay errors.
_HARMLESS = (
    "badTimezone",
    "missingSpaceBeforeDate",
    "missingSpaceBeforeEmail",
    "zeroPaddedFilemode",
    "gitmodulesUrl",
    "gitmodulesPath",
)


_NOT_A_FAULT = ("notice:", "Checking ", "dangling ")


@dataclass(frozen=True)
class Entry:
    """One part of the cache.

    Attributes:
        commits: What is pinned of a repository; empty for an archive.
        size: In bytes on the disk.
        error: What is wrong with it; empty when it was verified, or not looked at.
    """

    name: str
    commits: tuple[str, ...]
    size: int
    error: str = ""


def to_json(found: Iterable[Entry]) -> dict[str, Any]:
    """Return the parts of a cache in the schema ``dsv4-doctor/source-cache/1``."""
    return {"schema": SCHEMA, "entries": [asdict(each) for each in found]}


def entries(store: Store) -> Iterator[Entry]:
    """Yield what the cache has."""
    for digest, file in store.archives():
        yield Entry(f"{digest}/{file.name}", (), file.stat().st_size)
    crates = vendor.kept(store)
    if crates:
        size = sum(file.stat().st_size for file in crates)
        yield Entry(f"{len(crates)} {CRATES}", (), size)
    for name, repository in store.repositories():
        commits = repository.pinned()
        if commits:  # Else nothing could be had of it yet.
            files = [each for each in repository.path.rglob("*") if each.is_file()]
            yield Entry(name, commits, sum(each.stat().st_size for each in files))


def verify(store: Store, environ: Mapping[str, str]) -> Iterator[Entry]:
    """Yield what the cache has, with what is wrong with it.

    Raises:
        BuildError: git is not there.
    """
    broken = {f"{digest}/{file.name}": file for digest, file in store.archives()}
    repositories = dict(store.repositories())
    for entry in entries(store):
        if entry.name in broken:
            found = sha256(broken[entry.name])
            wrong = "" if entry.name.startswith(found) else f"its SHA-256 is {found}"
        elif entry.name.endswith(f" {CRATES}"):
            wrong = vendor.wrong(store)
        else:
            wrong = check_repository(repositories[entry.name], store.log, environ)
        yield Entry(entry.name, entry.commits, entry.size, wrong)


def check_repository(repository: Repository, log: Path, environ: Mapping[str, str]) -> str:
    """Return what is wrong with a repository, empty for nothing: every object and link is read.

    Raises:
        BuildError: git is not there.
    """
    absent = [commit for commit in repository.pinned() if repository.tree(commit) is None]
    if absent:
        return f"{absent[0]} is pinned and not there"
    options = [each for name in _HARMLESS for each in ("-c", f"fsck.{name}=ignore")]
    check = ("fsck", "--full", "--no-dangling", "--no-progress")
    try:
        repository.transfer(*options, *check, environ=environ, log=log)
    except ChildFailedError as error:
        said = (line for line in error.lines if not line.startswith(_NOT_A_FAULT))
        return next(said, str(error))
    return ""
