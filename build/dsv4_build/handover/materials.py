"""What a wheel was made of and with: sources by digest and commit, tools by version and digest."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

from dsv4_build.answers import answer
from dsv4_build.publish import sha256
from dsv4_build.sources import resolution
from dsv4_doctor.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_build.plan import Plan

# Seconds for git to look at a checkout of some thousand files on a busy machine.
_LIMIT = 60.0

_GITHUB = re.compile(r"https://github\.com/(?P<owner>[^/]+)/(?P<name>[^/]+?)(?:\.git)?/?")

# The programs of a toolkit that make what is in the wheel, where it comes from no package.
_PROGRAMS = (
    "bin/nvcc",
    "bin/cudafe++",
    "nvvm/bin/cicc",
    "bin/ptxas",
    "bin/fatbinary",
    "bin/nvlink",
)


@dataclass(frozen=True)
class Material:
    """One input of a build.

    Attributes:
        role: A source that is in the wheel, a crate that may be, or a tool that made it.
        version: As its owner counts, or a commit.
        purl: Package URL.
        digest: Algorithm and value; the algorithm is empty when there is no digest.
        url: Where it is from; empty when not known.
        parent: The source whose submodule it is; empty for any other.
    """

    role: Literal["source", "crate", "tool"]
    name: str
    version: str
    purl: str
    digest: tuple[str, str] = ("", "")
    url: str = ""
    parent: str = ""


def collect(plan: Plan, deps: Path, installed: dict[str, str | None]) -> tuple[Material, ...]:
    """Return what a build used; sources first.

    Args:
        deps: Where CMake fetched external projects to.
        installed: Versions of what the interpreter's environment has of the build requirements.

    Raises:
        BuildError: A tool that was used cannot be read any more.
    """
    try:
        return (_tree(plan), *_projects(plan, deps), *_tools(plan), *_environment(plan, installed))
    except OSError as error:
        msg = f"what the wheel was made with cannot be read: {error}"
        raise BuildError(msg) from error


def _tree(plan: Plan) -> Material:
    source = plan.tree.source
    version = source.version or plan.tree.recipe.version
    name = "vllm" if plan.tree.release is not None else f"dsv4-{plan.tree.recipe.name}"
    purl = package_url("pypi" if source.kind == "sdist" else "generic", name, version)
    # Of a directory the digest is over names, kinds and contents, as dsv4_build.source counts it.
    return Material("source", name, version, purl, ("sha256", source.digest))


def _projects(plan: Plan, deps: Path) -> Iterator[Material]:
    for project in plan.tree.projects:
        if project in plan.scope.left_out:
            continue
        checkout = deps / f"{project.name.lower()}-src"
        if (checkout / ".git").exists():
            yield from _checkout(project.name, project.repository, checkout)
        else:
            # Not fetched here, so that there is only what the release pins.
            yield _commit(project.name, project.repository, project.revision)


def _checkout(name: str, url: str, place: Path, parent: str = "") -> Iterator[Material]:
    yield _commit(name, url, _git(place, "rev-parse", "HEAD").strip(), parent)
    listed = _git(place, "submodule", "status")
    for line in listed.splitlines():
        state, path = line[0], line[1:].split()[1]
        if state == "-":
            continue  # Nothing of it was fetched.
        address = _git(place, "config", "--get", f"submodule.{_module(place, path)}.url").strip()
        yield from _checkout(f"{name}/{path}", address, place / path, name)


def _module(place: Path, path: str) -> str:
    """Return the name of a submodule, which need not be its path."""
    asked = ("--null", "--get-regexp", r"^submodule\..*\.path$")
    for entry in _git(place, "config", "-f", ".gitmodules", *asked).split("\0"):
        key, _, value = entry.partition("\n")
        if value == path:
            return key.removeprefix("submodule.").removesuffix(".path")
    return path


def _git(place: Path, *arguments: str) -> str:
    argv = ["git", "-C", str(place), *arguments]
    return answer(argv, f"{place}: its commit cannot be told", limit=_LIMIT)


def _commit(name: str, url: str, revision: str, parent: str = "") -> Material:
    match = _GITHUB.fullmatch(url)
    purl = package_url("generic", name, revision)
    if match is not None:
        purl = package_url("github", f"{match['owner']}/{match['name']}".lower(), revision)
    full = re.fullmatch(r"[0-9a-f]{40}", revision) is not None
    digest = ("gitCommit", revision) if full else ("", "")
    return Material("source", name, revision, purl, digest, url, parent)


def _tools(plan: Plan) -> Iterator[Material]:
    choices = plan.choices
    chosen = choices.toolchain
    if chosen.selection is not None:
        for part in chosen.selection.parts:
            digest = ("sha256", part.sha256[chosen.selection.machine])
            purl = package_url("pypi", part.name, part.version)
            yield Material("tool", part.name, part.version, purl, digest)
    else:
        version = chosen.toolkit.nvcc_version or ""
        for program in _PROGRAMS:
            if (Path(chosen.root) / program).is_file():
                yield _program(f"cuda/{program}", version, Path(chosen.root, program))
    compiler, _, number = choices.compiler.name.partition(" ")
    yield _program(compiler, number, Path(choices.compiler.cxx))
    for tool in choices.tools:
        if tool.path:
            yield _program(tool.name, tool.version or "", Path(tool.path))
    yield _program("python", choices.python.version, Path(choices.python.executable))


def _program(name: str, version: str, file: Path) -> Material:
    digest = ("sha256", sha256(file.resolve()))
    return Material("tool", name, version, package_url("generic", name, version), digest)


def _environment(plan: Plan, installed: dict[str, str | None]) -> Iterator[Material]:
    # cmake and ninja come from PATH, whatever the environment has.
    tools = {tool.name for tool in plan.choices.tools}
    resolved = resolution.packages(plan.resolution, "the resolution of the build environment")
    for each in resolved:
        if each.name not in tools:
            # Of several wheels it is not known which one was taken.
            digest = ("sha256", each.sha256[0]) if len(each.sha256) == 1 else ("", "")
            purl = package_url("pypi", each.name, each.version)
            yield Material("tool", each.name, each.version, purl, digest)
    if resolved:
        return
    for name, version in sorted(installed.items()):
        if version is not None and name not in tools:
            yield Material("tool", name, version, package_url("pypi", name, version))


def package_url(kind: str, name: str, version: str) -> str:
    """Return a package URL; a slash in the name ends its namespace."""
    return f"pkg:{kind}/{quote(name, safe='/')}@{quote(version, safe='')}"
