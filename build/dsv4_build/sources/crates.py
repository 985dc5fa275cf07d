"""What a tree's Rust parts are built from: crates, brought by cargo itself before compilers run.

Crates of a registry go into the user's own ``CARGO_HOME``, so that mirrors and proxies that are
configured there hold. Crates that are git repositories are pins like all others, and cargo is sent
to them in the same way as CMake.
"""

from __future__ import annotations

import json
import re
import shutil
import tarfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from dsv4_build.process import ChildFailedError, Job, run_logged
from dsv4_doctor.errors import BuildError, InputError
from dsv4_doctor.files import atomically
from dsv4_doctor.knowledge.model import ExternalProject
from dsv4_doctor.knowledge.places import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from dsv4_build.source import Source
    from dsv4_build.sources.store import Store

LOCK = "Cargo.lock"
# A lock belongs to a workspace at the top of the tree, or to one directory below it.
_DEPTH = 2
_LIMIT = 3600.0

_PACKAGE = re.compile(r'^name = "(?P<name>[^"]+)"|^source = "git\+(?P<git>[^"]+)"', re.MULTILINE)
_GIT = re.compile(r"(?P<url>[^?#]+)(?:\?[^#]*)?#(?P<commit>[0-9a-f]{40})")


def projects(source: Source, store: Store) -> tuple[ExternalProject, ...]:
    """Return the repositories that a tree's crates are taken from, each at its commit.

    Raises:
        InputError: The tree cannot be read.
    """
    return _projects(locks(source, store))


def locks(source: Source, store: Store) -> dict[str, str]:
    """Return every ``Cargo.lock`` of a tree, by its path.

    Raises:
        InputError: The tree cannot be read.
        BuildError: The cache cannot be written.
    """
    if source.kind == "recipe":
        return {}
    if source.kind == "directory":
        return in_directory(Path(source.path))
    # Looking through a large archive takes a second; what was found in one stays true.
    kept = store.root / "crates" / f"{source.digest}.json"
    if kept.is_file():
        return dict(json.loads(kept.read_text(encoding="utf-8")))
    found = _archive(Path(source.path))
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        atomically(kept, lambda file: file.write(json.dumps(found).encode()))
    except OSError as error:
        msg = f"{kept}: cannot be written: {error.strerror or error}"
        raise BuildError(msg) from error
    return found


def in_directory(path: Path) -> dict[str, str]:
    """Return every ``Cargo.lock`` of a directory, by its path.

    Raises:
        InputError: It cannot be read.
    """
    try:
        files = [path / LOCK, *sorted(path.glob(f"*/{LOCK}"))]
        return {
            str(file.relative_to(path)): file.read_text(encoding="utf-8", errors="replace")
            for file in files
            if file.is_file()
        }
    except OSError as error:
        msg = f"{path}: cannot be read: {error}"
        raise InputError(msg) from error


def _archive(path: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                parts = PurePosixPath(member.name).parts[1:]
                if parts and parts[-1] == LOCK and len(parts) <= _DEPTH and member.isfile():
                    file = archive.extractfile(member)
                    text = file.read().decode("utf-8", "replace") if file is not None else ""
                    found["/".join(parts)] = text
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        msg = f"{path}: cannot be read as an sdist: {error}"
        raise InputError(msg) from error
    return found


def _projects(locks: Mapping[str, str]) -> tuple[ExternalProject, ...]:
    found: dict[tuple[str, str], ExternalProject] = {}
    for name in sorted(locks):
        for crate, url, commit in git_crates(locks[name]):
            place = Place("vllm", "", name)
            project = ExternalProject(f"crate {crate}", url, commit, "", name, (), place)
            found.setdefault((url, commit), project)
    return tuple(found.values())


def git_crates(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield name, URL and commit of every crate of a ``Cargo.lock`` that is a git repository."""
    name = ""
    for match in _PACKAGE.finditer(text):
        name = match["name"] or name
        git = _GIT.fullmatch(match["git"] or "")
        if git is not None:
            yield name, git["url"], git["commit"]


def fetch(
    tree: Path,
    environ: Mapping[str, str],
    log: Path,
    ways: Sequence[Sequence[str]],
    say: Callable[[str], None],
) -> None:
    """Let cargo bring the crates of a tree, when the tree has any and cargo is there.

    Args:
        tree: The copy that is built.
        environ: The environment of the build.
        ways: What comes before cargo, one after the other until it succeeds: that which cuts the
            network off goes first, and alone when nothing may be fetched.

    Raises:
        BuildError: A crate cannot be had; the message is cargo's.
    """
    cargo = shutil.which("cargo", path=environ.get("PATH"))
    locks = [tree / name for name in in_directory(tree)]
    if cargo is None or not locks:
        return
    variables = {**environ, "CARGO_NET_OFFLINE": "false"}
    for lock in locks:
        say(f"the crates of {lock.relative_to(tree)}")
        argv = [cargo, "fetch", "--locked", "--manifest-path", str(lock.with_name("Cargo.toml"))]
        _first(
            [Job(argv, variables, log, lock.parent, limit=_LIMIT, prefix=way) for way in ways], lock
        )


def _first(jobs: Sequence[Job], lock: Path) -> None:
    failed: ChildFailedError | None = None
    for job in jobs:
        failed = _failure(job)
        if failed is None:
            return
    said = [line for line in failed.lines if line.strip()] if failed is not None else []
    lines = "".join(f"\n  {line}" for line in said[-8:])
    msg = f"cargo cannot bring the crates of {lock}:{lines}"
    hint = "with a network: cargo fetch --locked in that directory, or dsv4-doctor sources pull"
    raise BuildError(msg, hint=hint)


def _failure(job: Job) -> ChildFailedError | None:
    try:
        run_logged(job)
    except ChildFailedError as error:
        return error
    return None
