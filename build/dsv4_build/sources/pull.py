"""Bringing all sources of one tree into the cache: vLLM itself and what its CMake would fetch."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsv4_build import git_mirror, source
from dsv4_build.sources import checkout, crates, index
from dsv4_build.sources.fetch import Fetcher
from dsv4_build.sources.git import COMMIT
from dsv4_build.sources.resolve import resolve
from dsv4_build.tree import requirements
from dsv4_doctor.errors import UsageError
from dsv4_doctor.knowledge import load

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dsv4_build.sources.model import Archive, Resolved
    from dsv4_build.sources.resolve import Wanted
    from dsv4_build.sources.store import Store
    from dsv4_doctor.knowledge.model import ExternalProject, Release

SCHEMA = "dsv4-doctor/sources/1"


@dataclass(frozen=True)
class Options:
    """How sources are brought.

    Attributes:
        mirror: Directory with ``OWNER/NAME.git`` that git is sent to first.
        leave_out: Repositories that no submodule is taken from.
        environ: The caller's variables.
        say: Takes progress lines.
    """

    say: Callable[[str], None]
    mirror: Path | None = None
    leave_out: tuple[str, ...] = ()
    environ: Mapping[str, str] | None = None

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment that git gets."""
        return os.environ if self.environ is None else self.environ


@dataclass(frozen=True)
class Pulled:
    """The sources of one tree.

    Attributes:
        vllm: The release, or what the tree says of itself.
        archive: The sdist, ``None`` for a checkout.
        place: What ``build --vllm`` takes: the sdist or a checkout.
    """

    vllm: str
    archive: Archive | None
    place: str
    resolved: Resolved

    @property
    def complete(self) -> bool:
        """Whether a build needs nothing besides."""
        return not self.resolved.missing

    def to_json(self) -> dict[str, Any]:
        """Return it in the schema ``dsv4-doctor/sources/1``."""
        return {
            "schema": SCHEMA,
            "vllm": self.vllm,
            "archive": asdict(self.archive) if self.archive is not None else None,
            "place": self.place,
            "complete": self.complete,
            **{name: list(each) for name, each in asdict(self.resolved).items()},
        }


def pull(store: Store, vllm: str, options: Options) -> Pulled:
    """Bring the sources of a vLLM into the cache.

    What cannot be had is named in the result; what can is there all the same.

    Args:
        vllm: A release, an sdist, a checkout, or a commit of vLLM's repository.

    Raises:
        UsageError: It names nothing of these.
        InputError: A file cannot be read.
        BuildError: vLLM itself cannot be had, or the cache cannot be written.
    """
    with store.locked(options.say):
        place, archive, release = _vllm(store, vllm, options)
        needed = (*release.external_projects, *crates.projects(source.identify(place), store))
        resolved = bring_projects(store, needed, options)
    return Pulled(release.name, archive, str(place), resolved)


def bring_projects(store: Store, projects: Sequence[ExternalProject], options: Options) -> Resolved:
    """Bring every commit that a build of these projects reads.

    Raises:
        InputError: An address is none.
        BuildError: The cache cannot be written, or git is not there.
    """

    def bring(wanted: Wanted) -> str:
        urls = [wanted.url]
        variables = dict(options.variables)
        if options.mirror is not None:
            variables |= git_mirror.environment(options.mirror.absolute(), urls, variables)
        fetcher = Fetcher(variables, store.log, options.say)
        return fetcher.bring(store.repository(wanted.url), wanted.url, wanted.revision)

    return resolve(store, projects, options.leave_out, bring)


def _vllm(store: Store, text: str, options: Options) -> tuple[Path, Archive | None, Release]:
    path = Path(text).expanduser()
    release = text.removeprefix("v")
    if release in load.release_names():
        archive = archive_of(store, release, options.say)
        return store.path(archive), archive, load.release(release)
    if path.is_dir():
        found = source.identify(path.absolute())
        return path.absolute(), None, requirements(found, path)[0]
    if path.is_file():
        archive = store.keep(path)
        kept = store.path(archive)
        return kept, archive, requirements(source.identify(kept), kept)[0]
    if COMMIT.fullmatch(text):
        tree = checkout.of_commit(store, text, options.mirror, options.variables, options.say)
        return tree, None, requirements(source.identify(tree), tree)[0]
    load.release(text)  # Says which are known.
    msg = f"--vllm {text}: no such file or directory, no release and no whole commit"
    raise UsageError(msg)


def archive_of(store: Store, name: str, say: Callable[[str], None]) -> Archive:
    """Return the sdist of a known release, downloaded when the cache does not have it.

    Raises:
        BuildError: It cannot be had.
    """
    release = load.release(name)
    there = store.archive(release.sdist_sha256)
    if there is not None:
        return store.describe(there)
    say(f"downloading vllm-{name}.tar.gz")
    with index.download(name, release.sdist_sha256) as (file, url):
        return store.keep(file, url)
