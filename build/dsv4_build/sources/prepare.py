"""What a build needs before it can be planned: vLLM's source, and an environment to build in."""

from __future__ import annotations

import platform
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.specifiers import SpecifierSet

from dsv4_build.cache import cache_root
from dsv4_build.compile import require_installed
from dsv4_build.sources import buildenv, named, pull
from dsv4_build.sources.store import Store
from dsv4_build.tree import open_tree
from dsv4_doctor.errors import BuildError
from dsv4_doctor.knowledge import load

if TYPE_CHECKING:
    from collections.abc import Callable

    from dsv4_build.request import BuildRequest
    from dsv4_build.tree import Tree

    Say = Callable[[str], None]


def prepare(request: BuildRequest, say: Say, *, only_look: bool = False) -> BuildRequest:
    """Return the request with everything on this machine that a plan rests on.

    Args:
        only_look: Make no environment, as for ``--plan``.

    Raises:
        UsageError: The request names nothing that exists.
        InputError: The source tree cannot be read.
        BuildError: Something cannot be had.
    """
    wanted = _source(request, say)
    if wanted.python is not None:
        return wanted
    return _environment(wanted, open_tree(wanted), say, only_look=only_look)


def _source(request: BuildRequest, say: Say) -> BuildRequest:
    """Bring the sdist of a release that was named, or of the usual one when none was."""
    if request.recipe is not None:
        return request
    text = request.vllm
    if text is None:
        text = load.default_release().name
        say(f"vLLM {text}: the newest release with all features; --vllm names another")
    wanted = replace(request, vllm=text)
    store = Store(cache_root() / "sources")
    release = text.removeprefix("v")
    known = release in load.release_names() and not Path(text).exists()
    if known and named.find(store, text) is None and not request.offline:
        with store.locked(say):
            pull.archive_of(store, release, say)
    return wanted


def _environment(request: BuildRequest, tree: Tree, say: Say, *, only_look: bool) -> BuildRequest:
    if tree.release is None and _has_all(tree):
        return request
    _require_python(tree)
    environment = buildenv.planned(
        tree,
        cache_root(),
        say,
        buildenv.Terms(until=request.exclude_newer, ask=not (only_look or request.offline)),
    )
    if environment is not None and environment.made:
        return replace(request, python=environment.python, isolated=environment.because)
    if only_look:
        say("the isolated build environment is not made yet: the plan is of another interpreter")
        return request
    if environment is None or request.offline:
        msg = "the isolated build environment is not made yet, and --offline fetches nothing"
        raise BuildError(msg, hint="build once with a network, or --python of one that has all")
    buildenv.make(environment, say)
    return replace(request, python=environment.python, isolated=environment.because)


def _has_all(tree: Tree) -> bool:
    """Whether the interpreter that the doctor runs in can build a tree without torch."""
    try:
        require_installed(sys.executable, buildenv.requirements(tree.source))
    except BuildError:
        return False
    return True


def _require_python(tree: Tree) -> None:
    if tree.release is None:
        return
    version, wanted = platform.python_version(), tree.release.requires_python
    if not SpecifierSet(wanted.value).contains(version, prereleases=True):
        msg = f"{tree.name} needs Python {wanted.value} ({wanted.place}), and this is {version}"
        raise BuildError(msg, hint="run the doctor with such a Python, or --python names one")
