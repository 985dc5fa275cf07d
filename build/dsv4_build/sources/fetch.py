"""Bringing one commit of a repository into the cache, with as little of its history as possible."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dsv4_build.process import ChildFailedError
from dsv4_build.sources.git import COMMIT, UPSTREAM, branch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from dsv4_build.sources.git import Repository

# Protocol 2 lets a server give any commit that it has; older ones give only what has a name.
_FETCH = (
    "-c",
    "protocol.version=2",
    "-c",
    "fetch.fsckObjects=false",
    "fetch",
    "--no-tags",
    "--force",
)

# Where servers keep commits: branches, tags, and what was proposed and never merged.
_EVERYTHING = (
    f"+refs/heads/*:{UPSTREAM}/heads/*",
    f"+refs/tags/*:{UPSTREAM}/tags/*",
    f"+refs/pull/*:{UPSTREAM}/pull/*",
)


# git says so, in the C locale, of a server that was not reached or has no such repository.
_UNREACHABLE = re.compile(
    r"unable to access|unable to connect|unable to look up|Could not resolve|Connection "
    r"|not allowed|could not read Username|[Rr]epository .*not found|does not appear to be"
)


@dataclass(frozen=True)
class Fetcher:
    """Fetches commits.

    Attributes:
        environ: The caller's variables, with what redirects git to a mirror.
        log: Where git's output goes.
        say: Takes progress lines.
    """

    environ: Mapping[str, str]
    log: Path
    say: Callable[[str], None]

    def bring(self, repository: Repository, url: str, revision: str) -> str:
        """Make sure that the cache has a commit, and that it is pinned.

        Returns:
            Why it could not be had; empty when it is there.

        Raises:
            BuildError: The cache cannot be written, or git is not there.
        """
        repository.create()
        new = repository.commit(revision) is None
        if new:
            self.say(f"fetching {url} {revision}")
            reason = self._fetch(repository, url, revision)
            if repository.commit(revision) is None:
                return reason or "the repository has no such commit"
        commit = repository.commit(revision)
        if commit is not None and (new or commit not in repository.pinned()):
            # HEAD is set, too: a clone of depth 1 asks for it before anything else.
            repository.pin(commit)
        return ""

    def _fetch(self, repository: Repository, url: str, revision: str) -> str:
        what = f"{revision}:{branch(revision)}"
        if not COMMIT.fullmatch(revision):
            what = f"refs/tags/{revision}:refs/tags/{revision}"
        exact = self._try(repository, "--depth=1", url, what)
        if not exact or not COMMIT.fullmatch(revision) or _UNREACHABLE.search(exact):
            return exact
        # Some servers give a commit only as part of the history of what has a name.
        self.say("the server does not give the commit alone: fetching the whole history")
        return self._try(repository, *self._unshallow(repository), url, *_EVERYTHING) and exact

    @staticmethod
    def _unshallow(repository: Repository) -> tuple[str, ...]:
        return ("--unshallow",) if (repository.path / "shallow").is_file() else ()

    def _try(self, repository: Repository, *arguments: str) -> str:
        try:
            repository.transfer(*_FETCH, *arguments, environ=self.environ, log=self.log)
        except ChildFailedError as error:
            return next(iter(error.lines), str(error).partition("\n")[0])
        return ""
