"""A checkout of vLLM at one commit, made from the cache's own repository."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from dsv4_build import git_mirror
from dsv4_build.process import ChildFailedError
from dsv4_build.sources.git import UPSTREAM, Repository, branch
from dsv4_build.sources.named import checkout_place
from dsv4_doctor.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from dsv4_build.sources.store import Store

URL = "https://github.com/vllm-project/vllm.git"


def of_commit(
    store: Store,
    commit: str,
    mirror: Path | None,
    environ: Mapping[str, str],
    say: Callable[[str], None],
) -> Path:
    """Return a checkout of a commit of vLLM.

    The history is brought, too: what version the tree is depends on the tags before it.

    Raises:
        BuildError: The commit cannot be had.
    """
    wanted = checkout_place(store, commit)
    if wanted.is_dir():
        return wanted
    repository = store.repository(URL)
    repository.create()
    if repository.commit(commit) is None:
        say(f"fetching {URL} with its history")
        variables = dict(environ)
        if mirror is not None:
            variables |= git_mirror.environment(mirror.absolute(), [URL], variables)
        _fetch(repository, store, commit, variables)
    repository.pin(commit)
    _check_out(repository, commit, wanted)
    return wanted


def _fetch(repository: Repository, store: Store, commit: str, environ: Mapping[str, str]) -> None:
    places = ("+refs/tags/*:refs/tags/*", f"+refs/heads/*:{UPSTREAM}/heads/*")
    try:
        repository.transfer("fetch", "--no-tags", URL, *places, environ=environ, log=store.log)
        if repository.commit(commit) is None:
            exact = f"{commit}:{branch(commit)}"
            repository.transfer("fetch", "--no-tags", URL, exact, environ=environ, log=store.log)
    except ChildFailedError as error:
        msg = f"vLLM at {commit} cannot be had: {next(iter(error.lines), error)}"
        raise BuildError(msg, hint="--mirror DIR has it as DIR/vllm-project/vllm.git") from error


def _check_out(repository: Repository, commit: str, wanted: Path) -> None:
    stage = wanted.with_name(f".{wanted.name}.stage")
    shutil.rmtree(stage, ignore_errors=True)
    stage.parent.mkdir(parents=True, exist_ok=True)
    try:
        # Borrowed objects: the checkout lives and goes with the cache.
        repository.tell(
            "clone", "--quiet", "--shared", "--no-checkout", str(repository.path), str(stage)
        )
        tree = Repository(stage / ".git")
        tree.tell(f"--work-tree={stage}", "checkout", "--quiet", "--detach", commit)
        stage.rename(wanted)
    finally:
        shutil.rmtree(stage, ignore_errors=True)
