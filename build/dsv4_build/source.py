"""Source trees: what one is, its digest, and an own copy of it to build in."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from packaging.version import InvalidVersion, Version

from dsv4_build import recipe as recipes
from dsv4_build import sdist
from dsv4_doctor.errors import BuildError, InputError, UsageError
from dsv4_doctor.knowledge import load
from dsv4_doctor.process import ProcessError, run

if TYPE_CHECKING:
    from collections.abc import Iterator

# 1980-01-01: the oldest time that a zip archive can hold.
ZIP_EPOCH = 315532800

# At the top of a checkout: results of earlier builds, and history. Deeper down the same names are
# source, such as vLLM's requirements/build.
_NOT_SOURCE_AT_TOP = frozenset({".git", ".deps", ".venv", "venv", "build", "dist", ".mypy_cache"})

_VERSION_FILE = re.compile(r"^(?:__version__\s*=\s*)?version\s*=\s*['\"]([^'\"]+)", re.MULTILINE)
_COMMITS = re.compile(r"(?:\d+\.)?g[0-9a-f]{5,}.*")
_DESCRIBED = re.compile(r"v?(?P<tag>.+)-(?P<commits>\d+)-g(?P<commit>[0-9a-f]+)")


@dataclass(frozen=True)
class Source:
    """A source tree that can be built.

    Attributes:
        path: The sdist, the directory, or the name of the recipe.
        version: What the tree says that it is.
        digest: SHA-256 of the sdist, or over names and contents of the files.
        epoch: The time that all files of the result get, as ``SOURCE_DATE_EPOCH``.
    """

    kind: Literal["recipe", "sdist", "directory"]
    path: str
    version: str
    digest: str
    epoch: int


def embedded(name: str) -> Source:
    """Return the source tree of a recipe that brings its own."""
    return Source("recipe", name, "", digest(recipes.tree(name)), ZIP_EPOCH)


def identify(path: Path) -> Source:
    """Return what a vLLM sdist or checkout is.

    Raises:
        InputError: It is neither, or is broken.
    """
    if path.is_dir():
        return _directory(path)
    if not path.exists():
        msg = f"{path}: no such file or directory"
        raise InputError(msg)
    metadata = sdist.metadata(path)
    _require_vllm(path, metadata.name)
    time = max(metadata.time, ZIP_EPOCH)
    return Source("sdist", str(path), metadata.version, metadata.sha256, time)


def known_release(version: str) -> str | None:
    """Return the known release that a tree of this version is, ``None`` for any other tree.

    A build tag as in ``0.24.0+cu130`` changes nothing; commits after a tag make another tree.

    Raises:
        UsageError: It is no version.
    """
    try:
        wanted = Version(version)
    except InvalidVersion as error:
        msg = f"vLLM says that its version is {version!r}, which is none"
        raise UsageError(msg) from error
    commits = _COMMITS.fullmatch(wanted.local or "") is not None
    return wanted.public if wanted.public in load.release_names() and not commits else None


def copy(source: Source, target: Path) -> None:
    """Put a tree of one's own at ``target``, which must not exist.

    Raises:
        InputError: The source cannot be read.
        BuildError: The disk of the target is full.
    """
    try:
        _copy(source, target)
    except InputError as error:
        if not _is_full(error.__cause__):
            raise
        msg = f"{target}: no space left for the sources"
        raise BuildError(msg, hint="free space, or --work-dir on a larger disk") from error


def _is_full(error: BaseException | None) -> bool:
    full = {errno.ENOSPC, errno.EDQUOT}
    if isinstance(error, shutil.Error):  # It has texts of many errors, and no number.
        return any(os.strerror(each) in str(error) for each in full)
    return isinstance(error, OSError) and error.errno in full


def _copy(source: Source, target: Path) -> None:
    if source.kind == "sdist":
        sdist.unpack(Path(source.path), target)
        return
    try:
        recipe = source.kind == "recipe"
        _copy_directory(recipes.tree(source.path) if recipe else Path(source.path), target)
    except (OSError, shutil.Error) as error:
        msg = f"{source.path}: cannot be copied: {error}"
        raise InputError(msg) from error


def digest(directory: Path) -> str:
    """Return a SHA-256 over the names, kinds and contents of the source files."""
    total = hashlib.sha256()
    for relative in _files(directory):
        file = directory / relative
        if file.is_symlink():
            kind, content = "link", os.fsencode(file.readlink())
        else:
            kind = "program" if os.access(file, os.X_OK) else "file"
            content = file.read_bytes()
        total.update(f"{kind} {relative} {len(content)}\n".encode("utf-8", "surrogateescape"))
        total.update(content)
    return total.hexdigest()


def _files(directory: Path) -> Iterator[str]:
    for parent, directories, names in os.walk(directory):
        here = Path(parent).relative_to(directory)
        at_top = Path(parent) == directory
        directories[:] = sorted(each for each in directories if not _ignored(each, at_top=at_top))
        # A link to a directory is listed among the directories and is a file of the tree here.
        links = [each for each in directories if (Path(parent) / each).is_symlink()]
        files = [each for each in names if not _ignored(each, at_top=at_top)]
        yield from (str(here / name) for name in sorted([*files, *links]))


def _ignored(name: str, *, at_top: bool) -> bool:
    if at_top and (name in _NOT_SOURCE_AT_TOP or name.endswith(".egg-info")):
        return True
    return name == "__pycache__"


def _copy_directory(directory: Path, target: Path) -> None:
    def ignored(parent: str, names: list[str]) -> list[str]:
        at_top = Path(parent) == directory
        return [each for each in names if _ignored(each, at_top=at_top)]

    shutil.copytree(directory, target, symlinks=True, ignore=ignored)


def _directory(path: Path) -> Source:
    if not (path / "CMakeLists.txt").is_file() or not (path / "setup.py").is_file():
        msg = f"{path}: no source tree of vLLM: it has no CMakeLists.txt and setup.py"
        raise InputError(msg)
    version = _directory_version(path)
    try:
        content = digest(path)
    except OSError as error:
        msg = f"{path}: cannot be read: {error}"
        raise InputError(msg) from error
    epoch = _git(path, "log", "-1", "--format=%ct") or ""
    seconds = max(int(epoch), ZIP_EPOCH) if epoch.isdigit() else ZIP_EPOCH
    return Source("directory", str(path), version, content, seconds)


def _directory_version(path: Path) -> str:
    try:
        if (path / "PKG-INFO").is_file():
            text = (path / "PKG-INFO").read_text(encoding="utf-8", errors="replace")
            headers = HeaderParser().parsestr(text)
            _require_vllm(path, headers.get("Name", ""))
            return headers.get("Version", "")
        if (path / "vllm" / "_version.py").is_file():
            text = (path / "vllm" / "_version.py").read_text(encoding="utf-8", errors="replace")
            match = _VERSION_FILE.search(text)
            if match is not None:
                return match[1]
    except OSError as error:
        msg = f"{path}: cannot be read: {error}"
        raise InputError(msg) from error
    described = _git(path, "describe", "--tags", "--long", "--match", "v[0-9]*")
    match = _DESCRIBED.fullmatch(described or "")
    if match is None:
        msg = f"{path}: its version is not known: no PKG-INFO, no vllm/_version.py, no tag in git"
        raise InputError(msg, hint="git fetch --tags, or give the sdist of a release")
    commits = f"+{match['commits']}.g{match['commit']}" if match["commits"] != "0" else ""
    return match["tag"] + commits


def _git(path: Path, *arguments: str) -> str | None:
    if not (path / ".git").exists():
        return None
    try:
        done = run(["git", "-C", str(path), *arguments])
    except ProcessError:
        return None
    return done.stdout.strip() if done.ok else None


def _require_vllm(path: Path, name: str) -> None:
    if name.lower() != "vllm":
        msg = f"{path}: a source tree of {name or 'something unnamed'}, not of vLLM"
        raise InputError(msg)
