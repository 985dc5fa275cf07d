"""The tree that a request names: an embedded one, or vLLM with what its release needs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from dsv4_build import recipe as recipes
from dsv4_build import source as sources
from dsv4_build.cache import cache_root
from dsv4_build.sources import named
from dsv4_build.sources.store import Store
from dsv4_doctor.errors import UsageError
from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.named import from_tree

if TYPE_CHECKING:
    from dsv4_build.recipe import Recipe
    from dsv4_build.request import BuildRequest
    from dsv4_build.source import Source
    from dsv4_doctor.knowledge.model import ExternalProject, Feature, Release

_REPOSITORY = "https://github.com/vllm-project/vllm"


@dataclass(frozen=True)
class Tree:
    """What will be built, and what is known of it.

    Attributes:
        release: vLLM release whose requirements hold, ``None`` for an embedded tree.
        features: What it has, by name.
        components: Extension modules that it declares.
        projects: Source trees that its CMake downloads.
    """

    recipe: Recipe
    source: Source
    release: Release | None
    features: dict[str, Feature]
    components: tuple[str, ...]
    projects: tuple[ExternalProject, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The tree, for messages."""
        return f"vLLM {self.release.name}" if self.release is not None else self.recipe.title


def open_tree(request: BuildRequest) -> Tree:
    """Find out what the request wants built.

    Raises:
        UsageError: Nothing, two things, or something that does not exist.
        InputError: The source tree cannot be read.
    """
    if request.recipe is not None and request.vllm is not None:
        msg = "--recipe and --vllm name two trees; give one of them"
        raise UsageError(msg)
    if request.recipe is not None:
        return _embedded(request.recipe)
    if request.vllm is not None:
        return _vllm(request.vllm)
    msg = (
        "nothing to build was named:\n"
        "  --recipe smoke    the embedded tree, which proves the machine in a minute\n"
        "  --vllm PATH       vLLM's sdist (vllm-0.24.0.tar.gz) or a checkout"
    )
    raise UsageError(msg)


def _embedded(name: str) -> Tree:
    recipe = recipes.embedded_recipe(name)
    components = dict.fromkeys(feature.component for feature in recipe.features.values())
    return Tree(recipe, sources.embedded(name), None, dict(recipe.features), tuple(components))


def _vllm(text: str) -> Tree:
    path = Path(text).expanduser()
    if not path.exists():
        kept = named.find(Store(cache_root() / "sources"), text)
        if kept is None:
            raise _no_source(text)
        path = kept
    source = sources.identify(path.absolute())
    release, notes = requirements(source, path)
    return Tree(
        recipe=recipes.recipe("vllm"),
        source=source,
        release=release,
        features=release.features,
        components=tuple(extension.name for extension in release.extensions),
        projects=release.external_projects,
        notes=notes,
    )


def requirements(source: Source, path: Path) -> tuple[Release, tuple[str, ...]]:
    """Return what a known release needs, or for any other tree what it says itself, and notes.

    Raises:
        InputError: The tree cannot be read.
    """
    name = sources.known_release(source.version)
    if name is None:
        return from_tree(path)
    release = load.release(name)
    if source.kind == "sdist" and source.digest != release.sdist_sha256:
        return release, (f"{path.name} is not the published sdist of {name}: its SHA-256 differs",)
    return release, ()


def _no_source(text: str) -> UsageError:
    try:
        release = str(Version(text))
    except InvalidVersion:
        msg = f"--vllm {text}: no such file or directory, no release, and no commit in the cache"
        return UsageError(msg)
    load.release(release)  # One that is not known is said to be so, with those that are.
    msg = (
        f"--vllm {text} names a release, and building it needs its source tree, "
        "which the cache does not have"
    )
    hint = (
        f"with a network: dsv4-doctor sources pull --vllm {release}; or give the sdist: "
        f"--vllm PATH/vllm-{release}.tar.gz, from the release's files on PyPI; "
        f"or a checkout: git clone --branch v{release} {_REPOSITORY}, then --vllm ./vllm"
    )
    return UsageError(msg, hint=hint)
