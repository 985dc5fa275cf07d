"""Small git repositories, shaped like those that vLLM's CMake fetches: real git, made on the spot.

example/outer     v1 (a tag), with the submodules "inner" (relative URL) and "rocm"
example/inner     with the submodule "deep"
example/deep      a commit that no branch has
rocm/kernels      what a build for CUDA does not read
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from dsv4_build.sources import pull
from dsv4_build.sources.model import Resolved
from dsv4_build.sources.store import Store
from dsv4_doctor.knowledge.model import ExternalProject
from dsv4_doctor.knowledge.places import Place

HOST = "https://github.com/"

_IDENTITY = {
    f"GIT_{role}_{key}": value
    for role in ("AUTHOR", "COMMITTER")
    for key, value in (
        ("NAME", "someone"),
        ("EMAIL", "someone@example.org"),
        ("DATE", "2026-01-02T03:04:05Z"),
    )
}


@dataclass(frozen=True)
class Upstream:
    """A directory of ``OWNER/NAME.git``, and what is in it.

    Attributes:
        commits: The commit to pin of each repository.
    """

    mirror: Path
    commits: dict[str, str]

    def project(self, revision: str = "v1") -> ExternalProject:
        """Return the project that a release would name."""
        return project("outer", f"{HOST}Example/outer.git", revision)


def project(name: str, url: str, revision: str) -> ExternalProject:
    """Return an external project."""
    place = Place("vllm", "1.0", "CMakeLists.txt", 1)
    return ExternalProject(name, url, revision, "", "CMakeLists.txt", (), place)


def git(directory: Path, *arguments: str) -> str:
    """Run git as somebody, at some time, without the configuration of this machine."""
    environ = {
        **os.environ,
        **_IDENTITY,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    done = subprocess.run(
        ["git", "-C", str(directory), *arguments],
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def repository(mirror: Path, name: str) -> Path:
    """Make an empty bare repository."""
    bare = mirror / f"{name}.git"
    bare.mkdir(parents=True)
    git(bare, "init", "-q", "--bare", "-b", "main")
    return bare


@dataclass(frozen=True)
class Link:
    """A submodule of a commit."""

    path: str
    url: str
    commit: str
    more: str = ""


def commit(
    bare: Path, files: dict[str, bytes], links: tuple[Link, ...] = (), parent: str = ""
) -> str:
    """Write a commit with these files and submodules, without a branch, and return its id."""
    if links:
        text = "".join(
            f'[submodule "{each.path}"]\n\tpath = {each.path}\n\turl = {each.url}\n{each.more}'
            for each in links
        )
        files = {**files, ".gitmodules": text.encode()}
    git(bare, "read-tree", "--empty")
    for name, content in files.items():
        scratch = bare / "scratch"
        scratch.write_bytes(content)
        blob = git(bare, "hash-object", "-w", str(scratch))
        git(bare, "update-index", "--add", "--cacheinfo", f"100644,{blob},{name}")
    for each in links:
        git(bare, "update-index", "--add", "--cacheinfo", f"160000,{each.commit},{each.path}")
    parents = ["-p", parent] if parent else []
    return git(bare, "commit-tree", git(bare, "write-tree"), "-m", "message", *parents)


def make(mirror: Path) -> Upstream:
    """Make all of them."""
    deep, inner = repository(mirror, "example/deep"), repository(mirror, "example/inner")
    outer, rocm = repository(mirror, "Example/outer"), repository(mirror, "rocm/kernels")
    first = commit(deep, {"deep.h": b"first\n"})
    git(deep, "update-ref", "refs/heads/main", first)
    hidden = commit(deep, {"deep.h": b"hidden\n", "data.bin": bytes(range(256)) * 40}, (), first)
    git(deep, "update-ref", "refs/pull/1/head", hidden)
    amd = commit(rocm, {"kernel.hip": b"hip\n"})
    git(rocm, "update-ref", "refs/heads/main", amd)
    middle = commit(inner, {"inner.h": b"inner\n"}, (Link("deep", f"{HOST}example/deep", hidden),))
    git(inner, "update-ref", "refs/heads/main", middle)
    links = (
        Link("third_party/inner", "../../example/inner.git", middle, "\tshallow = true\n"),
        Link("third_party/rocm", f"{HOST}rocm/kernels.git", amd),
        Link("third_party/never", f"{HOST}example/never.git", amd, "\tupdate = none\n"),
    )
    before = commit(outer, {"old.h": b"old\n"})
    top = commit(outer, {"outer.h": b"outer\n"}, links, before)
    later = commit(outer, {"outer.h": b"later\n"}, (), top)
    git(outer, "update-ref", "refs/heads/main", later)
    git(outer, "tag", "-a", "-m", "one", "v1", top)
    return Upstream(mirror, {"outer": top, "inner": middle, "deep": hidden, "kernels": amd})


def pulled(store: Store, upstream: Upstream, *leave_out: str, revision: str = "v1") -> Resolved:
    """Bring the sources of the project into a cache."""
    lines: list[str] = []
    options = pull.Options(lines.append, upstream.mirror, leave_out, dict(os.environ))
    return pull.bring_projects(store, (upstream.project(revision),), options)
