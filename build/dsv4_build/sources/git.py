"""git on the bare repositories of the cache, with nothing of the caller's own repository."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dsv4_build.process import Job, run_logged
from dsv4_doctor.errors import BuildError
from dsv4_doctor.process import Completed, ProcessError, run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")

# Seconds for a question about objects that are on the disk, on a machine that is busy.
_LIMIT = 120.0
# An hour for a repository: one that is slower than that will not end.
TRANSFER_LIMIT = 3600.0

# Branches, so that every clone has them, also one of depth 1.
PINS = "refs/heads/pin"
# What a server has of history is kept apart, where no clone takes it from.
UPSTREAM = "refs/upstream"

_OF_THE_CALLER = frozenset(
    {
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_NAMESPACE",
        "GIT_CEILING_DIRECTORIES",
        "LANGUAGE",
    }
)

# A server may be asked for a commit that no branch has; git then wants to know that it may say so.
_CONFIGURATION = {
    "uploadpack.allowAnySHA1InWant": "true",
    "gc.auto": "0",
    "core.logAllRefUpdates": "false",
    "transfer.fsckObjects": "false",
}


def branch(commit: str) -> str:
    """Return the branch of a pinned commit.

    Its name must not be the commit's id: CMake would take GIT_TAG for the name of that branch.
    """
    return f"{PINS}/commit-{commit}"


@dataclass(frozen=True)
class Repository:
    """A bare repository of the cache."""

    path: Path

    def exists(self) -> bool:
        """Whether there is a repository."""
        return (self.path / "HEAD").is_file()

    def create(self) -> None:
        """Make an empty one when there is none.

        Raises:
            BuildError: It cannot be made.
        """
        if self.exists():
            return
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            msg = f"{self.path}: cannot be made: {error.strerror}"
            raise BuildError(msg) from error
        for key, value in _CONFIGURATION.items():
            self._config(key, value)

    def _config(self, key: str, value: str) -> None:
        if not self.exists():
            _checked(["git", "init", "--quiet", "--bare", "--template=", str(self.path)])
        _checked(self._argv("config", key, value))

    def ask(self, *arguments: str) -> Completed:
        """Run git on the repository and return what it answers, whatever that is.

        Raises:
            BuildError: git is not there or does not end.
        """
        return _run(self._argv(*arguments))

    def tell(self, *arguments: str) -> str:
        """Run git on the repository and return its output.

        Raises:
            BuildError: It failed.
        """
        return _checked(self._argv(*arguments)).stdout

    def transfer(
        self,
        *arguments: str,
        environ: Mapping[str, str],
        log: Path,
        on_line: Callable[[str], None] | None = None,
    ) -> None:
        """Run a git command that moves much data; its output goes to a log.

        Raises:
            ChildFailedError: It failed or took too long.
        """
        env = {name: value for name, value in environ.items() if name not in _OF_THE_CALLER}
        env |= {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"}
        run_logged(Job(self._argv(*arguments), env, log, limit=TRANSFER_LIMIT), on_line)

    def commit(self, revision: str) -> str | None:
        """Return the id of the commit that a tag or commit names, ``None`` when it is not there."""
        spelled = revision if COMMIT.fullmatch(revision) else f"refs/tags/{revision}"
        done = self.ask(
            "rev-parse", "--verify", "--quiet", "--end-of-options", spelled + "^{commit}"
        )
        return done.stdout.strip() if done.ok else None

    def tree(self, commit: str) -> str | None:
        """Return the id of a commit's tree, ``None`` when it is not there."""
        done = self.ask("rev-parse", "--verify", "--quiet", "--end-of-options", commit + "^{tree}")
        return done.stdout.strip() if done.ok else None

    def pinned(self) -> tuple[str, ...]:
        """Return the commits that are pinned, in order."""
        lines = self.tell("for-each-ref", "--format=%(objectname)", PINS).split()
        return tuple(sorted(lines))

    def tags(self) -> dict[str, str]:
        """Return the tags with the ids that they name: of a tag object or a commit."""
        form = "--format=%(objectname) %(refname:strip=2)"
        lines = self.tell("for-each-ref", form, "refs/tags").splitlines()
        return {name: oid for oid, _, name in (line.partition(" ") for line in lines)}

    def pin(self, commit: str) -> None:
        """Give a commit that is there a branch, and point HEAD to the first of these.

        Raises:
            BuildError: git refuses.
        """
        self.tell("update-ref", branch(commit), commit)
        self.tell("symbolic-ref", "HEAD", branch(self.pinned()[0]))

    def _argv(self, *arguments: str) -> list[str]:
        return ["git", f"--git-dir={self.path}", *arguments]


def _run(argv: list[str]) -> Completed:
    foreign = [
        option for name in sorted(_OF_THE_CALLER & os.environ.keys()) for option in ("-u", name)
    ]
    whole = ["env", *foreign, *argv] if foreign else argv
    try:
        return run(whole, limit=_LIMIT, env={"GIT_TERMINAL_PROMPT": "0"})
    except ProcessError as error:
        msg = f"git does not answer: {error}"
        raise BuildError(msg, hint="sources of vLLM are git repositories: install git") from error


def _checked(argv: list[str]) -> Completed:
    done = _run(argv)
    if not done.ok:
        msg = f"{' '.join(argv[:5])} failed: {done.stderr.strip()}"
        raise BuildError(msg)
    return done
