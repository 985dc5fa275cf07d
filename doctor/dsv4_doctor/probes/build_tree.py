"""The directory that a build would run in, as git sees it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from dsv4_doctor import process
from dsv4_doctor.facts.build_tree import BuildTree
from dsv4_doctor.probes import files

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsv4_doctor.probes.registry import Request

# Seconds; asked only where another user owns the work tree.
_LIMIT = 2.0
_MAX_REFS = 4 << 20


def probe(request: Request) -> BuildTree:
    """Look at the directory that was named, else at the current one."""
    return survey(Path(request.tree) if request.tree else Path.cwd(), os.environ)


def survey(path: Path, environ: Mapping[str, str], *, user: int | None = None) -> BuildTree:
    """Look at a directory.

    Args:
        path: The directory.
        environ: Environment variables.
        user: User id of who builds; of this process when ``None``.
    """
    path = Path(os.path.abspath(path))  # noqa: PTH100 - links are git's to follow
    work_tree = next((each for each in (path, *path.parents) if files.exists(each / ".git")), None)
    shallow, tags, owner, error = False, 0, None, None
    if work_tree is not None:
        git = _git_directory(work_tree)
        shallow = files.is_file(git / "shallow")
        tags = count_tags(git)
        owner = _owner(work_tree, os.geteuid() if user is None else user)
        error = _ask_git(work_tree) if owner is not None else None
    return BuildTree(
        path=str(path),
        vllm=files.is_file(path / "setup.py") and files.is_file(path / "vllm/__init__.py"),
        sdist=files.is_file(path / "PKG-INFO"),
        work_tree=str(work_tree) if work_tree is not None else None,
        shallow=shallow,
        tags=tags,
        owner=owner,
        git_error=error,
        current=_same(path, Path.cwd()),
        compiled=any(path.glob("vllm/_*C*.so")),
        overrides=overrides(environ),
    )


def overrides(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that name a source tree which is not there, with what they name.

    vLLM's CMake files take an external project from such a tree instead of cloning it.
    """
    return {
        name: value
        for name, value in sorted(environ.items())
        if name.endswith("_SRC_DIR") and value and not files.is_directory(value)
    }


def count_tags(git: Path) -> int:
    """Return how many tags a git directory has, loose and packed."""
    packed = files.read(git / "packed-refs", _MAX_REFS) or ""
    names = {line.partition(" refs/tags/")[2] for line in packed.splitlines()}
    names |= set(files.names(git / "refs/tags"))
    return len(names - {""})


def _git_directory(work_tree: Path) -> Path:
    """Return where refs are: a linked work tree and a submodule have a file that says it."""
    git = work_tree / ".git"
    text = files.read(git) or ""
    match = re.match(r"gitdir: (.+)", text)
    if match is None:
        return git
    own = (work_tree / match[1].strip()).resolve()
    common = (files.read(own / "commondir") or "").strip()
    return (own / common).resolve() if common else own


def _same(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _owner(work_tree: Path, user: int) -> int | None:
    try:
        owner = work_tree.stat().st_uid
    except OSError:
        return None
    return owner if owner != user else None


def _ask_git(work_tree: Path) -> str | None:
    """Return why git refuses a work tree, such as for its owner; ``None`` when it does not."""
    argv = ["git", "-C", str(work_tree), "rev-parse", "--is-inside-work-tree"]
    try:
        done = process.run(argv, limit=_LIMIT)
    except process.ProcessError as error:
        return str(error)
    said = done.stderr.strip().partition("\n")[0]
    return None if done.ok else said[:200] or f"exit status {done.returncode}"
