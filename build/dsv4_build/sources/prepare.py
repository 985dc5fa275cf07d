"""What a build needs before it can be planned: vLLM's source, and an environment to build in."""

from __future__ import annotations

import platform
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from packaging.specifiers import SpecifierSet

from dsv4_build.cache import cache_root
from dsv4_build.compile import require_installed
from dsv4_build.scope import asked_archs, require_archs
from dsv4_build.sources import address, buildenv, named, pull
from dsv4_build.sources import lock as locks
from dsv4_build.sources.store import Store
from dsv4_build.tree import open_tree
from dsv4_doctor.errors import BuildError
from dsv4_doctor.knowledge import load
from dsv4_doctor.probes.registry import PROBES, Request, take_snapshot

if TYPE_CHECKING:
    from collections.abc import Callable

    from dsv4_build.request import BuildRequest
    from dsv4_build.sources.lock import Lock
    from dsv4_build.tree import Tree

    Say = Callable[[str], None]

Effort: TypeAlias = Literal["look", "resolve", "make"]


def prepare(request: BuildRequest, say: Say, effort: Effort = "make") -> BuildRequest:
    """Return the request with everything on this machine that a plan rests on.

    Args:
        effort: ``look`` asks no index for packages, ``resolve`` makes no environment.

    Raises:
        UsageError: The request names nothing that exists.
        InputError: The source tree or the lock cannot be read.
        BuildError: Something cannot be had.
    """
    wanted = _source(request, say)
    locked = _locked(wanted)
    if locked is not None and not wanted.leave_out:
        names = dict.fromkeys(address.parse(each.url).path for each in locked.left_out)
        wanted = replace(wanted, leave_out=tuple(names))
    if wanted.python is not None:
        return wanted
    return _environment(wanted, locked, say, effort)


def _locked(request: BuildRequest) -> Lock | None:
    """Return the lock that binds the build."""
    if request.lock is None or request.update_lock or not request.lock.exists():
        return None
    return locks.read(request.lock)


def _source(request: BuildRequest, say: Say) -> BuildRequest:
    """Bring the sdist of a release that was named, or of the usual one when none was."""
    if request.recipe is not None:
        return request
    require_archs(request)
    text = request.vllm
    if text is None:
        text = load.default_release().name
        say(f"vLLM {text}: the newest release with all features; --vllm names another")
    wanted = replace(request, vllm=text)
    store = Store(cache_root() / "sources")
    release = text.removeprefix("v")
    known = release in load.release_names() and not Path(text).exists()
    if known and named.find(store, text) is None and not request.offline:
        # What cannot be built for anything should not be downloaded.
        gpus = [probe for probe in PROBES if probe.name == "gpus"]
        asked_archs(wanted, take_snapshot(Request(), gpus))
        with store.locked(say):
            pull.archive_of(store, release, say)
    return wanted


def _environment(
    request: BuildRequest, locked: Lock | None, say: Say, effort: Effort
) -> BuildRequest:
    tree = open_tree(request)
    if tree.release is None and _has_all(tree):
        return request
    _require_python(tree)
    terms = buildenv.Terms(
        until=request.exclude_newer,
        locked_to=locked.requirements if locked is not None else "",
        ask=effort != "look" and not request.offline,
    )
    environment = buildenv.planned(tree, cache_root(), say, terms)
    if environment is None and request.offline:
        msg = "the build requirements are not resolved yet, and --offline fetches nothing"
        raise BuildError(msg, hint="--lock FILE with a lock, or --python of one that has all")
    if environment is None:
        return request
    found = replace(request, resolution=environment.resolution)
    if not environment.made and effort != "make":
        return found
    if not environment.made and request.offline:
        msg = "the isolated build environment is not made yet, and --offline fetches nothing"
        raise BuildError(msg, hint="build once with a network, or --python of one that has all")
    buildenv.make(environment, say)
    return replace(found, python=environment.python, isolated=environment.because)


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
