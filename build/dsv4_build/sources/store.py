"""The cache of sources: archives by their digest, every repository once."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dsv4_build import sdist
from dsv4_build.cache import locked
from dsv4_build.publish import sha256
from dsv4_build.sources import address
from dsv4_build.sources.git import Repository
from dsv4_build.sources.model import Archive
from dsv4_doctor.errors import BuildError
from dsv4_doctor.files import atomically

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Store:
    """The sources below one directory.

    Attributes:
        root: ``sources`` below the cache.
    """

    root: Path

    @property
    def log(self) -> Path:
        """The output of every transfer."""
        return self.root / "pull.log"

    def locked(self, say: Callable[[str], None]) -> AbstractContextManager[None]:
        """Hold the cache against other processes that write to it, waiting for them."""
        lock = self.root / ".lock"
        return locked(lock, on_wait=lambda: say(f"waiting for another process that uses {lock}"))

    def repository(self, url: str) -> Repository:
        """Return the repository of a URL; it may not exist yet.

        Raises:
            InputError: No address of a repository.
        """
        return Repository(self.root / "git" / address.parse(url).place)

    def repositories(self) -> tuple[tuple[str, Repository], ...]:
        """Return all repositories with their places, in order."""
        top = self.root / "git"
        found = sorted(each.parent for each in top.rglob("*.git/HEAD"))
        return tuple((str(each.relative_to(top)), Repository(each)) for each in found)

    def archives(self) -> Iterator[tuple[str, Path]]:
        """Yield digest and file of every archive, in order."""
        for directory in sorted((self.root / "sdists").glob("*")):
            if _DIGEST.fullmatch(directory.name):
                yield from ((directory.name, file) for file in sorted(directory.glob("*.tar.gz")))

    def archive(self, digest: str) -> Path | None:
        """Return the archive of a digest, ``None`` when it is not there."""
        return next((file for known, file in self.archives() if known == digest), None)

    def keep(self, file: Path, url: str = "") -> Archive:
        """Copy a source distribution into the cache.

        Raises:
            InputError: It is none.
            BuildError: The cache cannot be written.
        """
        described = self.describe(file, url)
        target = self.path(described)
        try:
            if not target.is_file() or sha256(target) != described.sha256:
                target.parent.mkdir(parents=True, exist_ok=True)
                with file.open("rb") as source:
                    atomically(target, lambda new: shutil.copyfileobj(source, new))
        except OSError as error:
            msg = f"{target}: cannot be written: {error.strerror or error}"
            raise BuildError(msg) from error
        return described

    def path(self, archive: Archive) -> Path:
        """Return where an archive is kept."""
        return self.root / "sdists" / archive.sha256 / archive.file

    @staticmethod
    def describe(file: Path, url: str = "") -> Archive:
        """Return what an archive says that it is.

        Raises:
            InputError: No readable source distribution.
        """
        metadata = sdist.metadata(file)
        return Archive(
            name=metadata.name,
            version=metadata.version,
            file=f"{metadata.name.lower()}-{metadata.version}.tar.gz",
            sha256=metadata.sha256,
            size=file.stat().st_size,
            url=url,
        )
