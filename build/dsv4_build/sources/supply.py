"""What a build takes from the cache: git is sent there, while upstream's FetchContent stays."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from dsv4_build import git_mirror
from dsv4_build.sources import crates, pull, text
from dsv4_build.sources.model import Resolved
from dsv4_build.sources.resolve import resolve
from dsv4_build.sources.store import Store
from dsv4_doctor.errors import BuildError, UsageError
from dsv4_doctor.knowledge import load

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from dsv4_build.plan import Plan
    from dsv4_build.progress import Progress
    from dsv4_build.request import BuildRequest, Surroundings
    from dsv4_doctor.knowledge.model import ExternalProject


@dataclass(frozen=True)
class Supply:
    """Where a build gets its git repositories from.

    Attributes:
        resolved: What it reads, as far as the cache has it; nothing when a mirror was named.
        variables: ``GIT_CONFIG_*`` that send git there.
        mirror: The directory of ``--git-mirror``; what is in it is not known.
    """

    resolved: Resolved = field(default_factory=lambda: Resolved(()))
    variables: dict[str, str] = field(default_factory=dict)
    mirror: str = ""

    @property
    def complete(self) -> bool:
        """Whether everything is known to be on this machine."""
        return not self.mirror and not self.resolved.missing

    @property
    def lacking(self) -> str:
        """What is not known to be on this machine; empty when all is."""
        if self.mirror:
            return f"what is in {self.mirror} is not known"
        count = len(self.resolved.missing)
        return f"{count} sources are not in the cache yet; once they are, it is cut off" * bool(
            count
        )

    @property
    def identity(self) -> list[str]:
        """What of it can change the result."""
        pins = [f"{pin.name} {pin.tree}" for pin in self.resolved.pins]
        return pins + [f"{left.project}/{left.path} -" for left in self.resolved.left_out]

    def cut_off(self) -> Supply:
        """Return it for a build that may fetch nothing: git then knows no way but local files."""
        return replace(self, variables={**self.variables, "GIT_ALLOW_PROTOCOL": "file"})

    def require(self, vllm: str) -> None:
        """Refuse a build whose sources are not all there.

        Args:
            vllm: What ``sources pull --vllm`` takes.

        Raises:
            BuildError: With what is missing and how to bring it.
        """
        if self.resolved.missing:
            message, way = text.missing(self.resolved.missing, vllm)
            raise BuildError(message, hint=way)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "complete": self.complete,
            "mirror": self.mirror,
            **{name: list(each) for name, each in asdict(self.resolved).items()},
        }


def from_mirror(
    mirror: Path, projects: Sequence[ExternalProject], environ: Mapping[str, str]
) -> Supply:
    """Return a supply from a directory that the user named.

    Raises:
        InputError: It holds no repository.
    """
    urls = [project.repository for project in projects]
    return Supply(
        variables=git_mirror.environment(mirror.absolute(), urls, environ), mirror=str(mirror)
    )


def from_cache(
    store: Store,
    projects: Sequence[ExternalProject],
    leave_out: Sequence[str],
    environ: Mapping[str, str],
) -> Supply:
    """Return what the cache has for a build.

    A repository that lacks a commit is not redirected: where there is a network, git finds the
    commit there.

    Raises:
        UsageError: A submodule to leave out has the name of one that is needed.
        BuildError: git does not answer.
    """
    found = resolve(store, projects, leave_out)
    places = {pin.url: store.repository(pin.url).path for pin in found.pins}
    lacking = {store.repository(each.url).path for each in found.missing}
    pairs: dict[str, str] = {}
    for url, path in places.items():
        if path not in lacking:
            # git compares the beginning of an URL: the longer spelling is told, too.
            base = url.removesuffix("/").removesuffix(".git")
            pairs |= dict.fromkeys((f"{base}.git", url), path.as_uri())
    skipped = [(f"submodule.{name}.update", "none") for name in _left_out(found)]
    if not pairs and not skipped:
        return Supply(found)
    return Supply(found, git_mirror.configuration(pairs, environ, skipped))


def pulled_as(plan: Plan) -> str:
    """Return what ``sources pull --vllm`` takes for the tree of a plan."""
    source = plan.tree.source
    known = plan.release in load.release_names() and source.kind == "sdist"
    return plan.release if known else source.path


def fill(plan: Plan, request: BuildRequest, around: Surroundings, show: Progress) -> bool:
    """Bring what the cache lacks for a plan, unless nothing may be fetched.

    Returns:
        Whether anything was tried, so that the plan has to be made again.

    Raises:
        BuildError: Something cannot be had; the message says what and why.
    """
    if request.offline or not plan.supply.resolved.missing:
        return False
    show.step("sources", "what the cache lacks")
    store = Store(around.cache / "sources")
    needed = [each for each in plan.tree.projects if each not in plan.scope.left_out]
    if plan.scope.only is None and plan.tree.release is not None:
        needed += crates.projects(plan.tree.source, store)
    options = pull.Options(show.say, None, request.leave_out, around.environ)
    with store.locked(show.say):
        found = pull.bring_projects(store, needed, options)
    replace(plan.supply, resolved=found).require(pulled_as(plan))
    return True


def _left_out(found: Resolved) -> list[str]:
    needed = {pin.module: pin.name for pin in found.pins if pin.module}
    names = sorted({left.module for left in found.left_out})
    for name in names:
        if name in needed:
            # git knows a submodule to skip by its name alone, in whatever repository.
            msg = f"submodule {name} cannot be left out: {needed[name]} is called so, too"
            raise UsageError(msg)
    return names
