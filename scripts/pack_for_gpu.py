#!/usr/bin/env python3
"""Packs what scripts/build_real_on_gpu needs, for a machine without a network.

    scripts/pack_for_gpu.py --tree vllm-0.24.0/ --git-mirror MIRROR [--deb git --deb ccache] .gpu

The tree loses what CMake does not read. Of the external projects that are packed every commit and
tree keeps its own hash; blobs below the directories of LEFT_OUT stay behind, which git is told
through a sparse checkout. The doctor's own dependencies come as pure Python from the package index
that pip is configured with, and programs that the other machine may lack as Debian packages.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.requirements import Requirement

from dsv4_build import source as sources
from dsv4_doctor.knowledge import load

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dsv4_doctor.knowledge.model import ExternalProject

PROJECTS = ("cutlass", "vllm-flash-attn")

# Of vLLM's tree: what a build with --only reads.
TREE = (
    "CMakeLists.txt",
    "PKG-INFO",
    "cmake",
    "csrc",
    "pyproject.toml",
    "requirements",
    "setup.py",
)
# Of external projects: documentation, pictures, tests and what else no CMake file here names.
LEFT_OUT = (
    "AI",
    "assets",
    "benchmarks",
    "docs",
    "examples",
    "media",
    "test",
    "tests",
    "training",
)

# What the other machine has to have itself, for its own processor and interpreter, and what only a
# package index is asked with.
LEFT_TO_IT = frozenset({"cmake", "ninja", "pip", "pypi-simple", "setuptools", "uv", "wheel"})
EXTRA = {"extra": "build"}

_GITLINK = "160000"


def git(repository: Path, *arguments: str, given: str = "") -> str:
    """Run git in a bare repository and return what it prints."""
    argv = ["git", f"--git-dir={repository}", *arguments]
    done = subprocess.run(argv, check=True, input=given, stdout=subprocess.PIPE, text=True)
    return done.stdout


def objects(repository: Path, commit: str) -> set[str]:
    """Return a commit, all of its trees, and the blobs that are not left out."""
    listed = git(repository, "rev-list", "--objects", "--no-walk", "--missing=allow-any", commit)
    names = "".join(f"{line.split()[0]}\n" for line in listed.splitlines())
    kinds = git(repository, "cat-file", "--batch-check=%(objectname) %(objecttype)", given=names)
    kept = {line.split()[0] for line in kinds.splitlines() if line.split()[1] in {"commit", "tree"}}
    for line in git(repository, "ls-tree", "-r", commit).splitlines():
        about, _, path = line.partition("\t")
        _, kind, name = about.split()
        if kind == "blob" and not path.startswith(tuple(f"{each}/" for each in LEFT_OUT)):
            kept.add(name)
    return kept


def submodules(repository: Path, commit: str) -> dict[str, tuple[str, str]]:
    """Return URL and commit of each submodule, by name."""
    links = {}
    for line in git(repository, "ls-tree", "-r", commit).splitlines():
        about, _, path = line.partition("\t")
        if about.startswith(_GITLINK):
            links[path] = about.split()[2]
    if not links:
        return {}
    blob = f"--blob={commit}:.gitmodules"
    listed = git(repository, "config", blob, "--get-regexp", r"^submodule\..*\.(path|url)$")
    values = dict(line.split(" ", 1) for line in listed.splitlines())
    names = {key[len("submodule.") : -len(".path")] for key in values if key.endswith(".path")}
    return {
        name: (values[f"submodule.{name}.url"], links[values[f"submodule.{name}.path"]])
        for name in sorted(names)
        if values[f"submodule.{name}.path"] in links
    }


def _name(url: str) -> str:
    return url.removesuffix(".git").removeprefix("https://github.com/")


class Packing:
    """What has to be packed, by repository, and the submodules that are not there."""

    def __init__(self, mirror: Path) -> None:
        self.mirror = mirror
        self.commits: dict[str, dict[str, str]] = {}
        self.absent: list[str] = []
        self.urls: dict[str, set[str]] = {}

    def add(self, url: str, revision: str) -> None:
        """Add a revision with the submodules that the mirror has."""
        name = _name(url)
        place = self.place(name)
        if place is None:
            msg = f"{self.mirror} has no {name}.git"
            raise SystemExit(msg)
        commit = git(place, "rev-parse", f"{revision}^{{commit}}").strip()
        key = str(place.relative_to(self.mirror))
        self.commits.setdefault(key, {})[revision] = commit
        self.urls.setdefault(key, set()).add(url)
        for module, (address, pinned) in submodules(place, commit).items():
            if self.place(_name(address)) is None:
                self.absent.append(module)
            else:
                self.add(address, pinned)

    def place(self, name: str) -> Path | None:
        """Return the repository of this name, whatever the case of its letters."""
        for entry in self.mirror.glob("*/*.git"):
            if str(entry.relative_to(self.mirror)).lower() == f"{name.lower()}.git":
                return entry
        return None

    def write(self, target: Path) -> None:
        """Write one bare repository for each, with a branch or tag for each revision."""
        for key, revisions in self.commits.items():
            place = target / key
            subprocess.run(["git", "init", "--quiet", "--bare", str(place)], check=True)
            shutil.rmtree(place / "hooks")
            kept = {
                each for commit in revisions.values() for each in objects(self.mirror / key, commit)
            }
            pack = [
                "pack-objects",
                "-q",
                "--window=100",
                "--depth=50",
                f"{place}/objects/pack/pack",
            ]
            git(self.mirror / key, *pack, given="".join(f"{each}\n" for each in sorted(kept)))
            for revision, commit in revisions.items():
                ref = f"heads/{commit[:12]}" if commit.startswith(revision) else f"tags/{revision}"
                git(place, "update-ref", f"refs/{ref}", commit)
                git(place, "update-ref", "refs/heads/main", commit)
            git(place, "symbolic-ref", "HEAD", "refs/heads/main")


def write_configuration(packing: Packing, target: Path) -> None:
    """Write a git configuration whose ``@PACK@`` stands for the directory's place there."""
    patterns = ["/*", *(f"!/{each}/" for each in LEFT_OUT)]
    place = target / "template" / "info" / "sparse-checkout"
    place.parent.mkdir(parents=True)
    place.write_text("".join(f"{line}\n" for line in patterns), encoding="utf-8")
    lines = [
        "[core]\n\tsparseCheckout = true",
        "[init]\n\ttemplateDir = @PACK@/template",
        '[protocol "file"]\n\tallow = always',
        "[safe]\n\tdirectory = *",
        # A clone whose blobs are not all there is what git calls a promisor's.
        '[remote "origin"]\n\tpromisor = true',
        *(f'[submodule "{name}"]\n\tupdate = none' for name in packing.absent),
    ]
    for key, urls in packing.urls.items():
        spelled = sorted({*urls, *(url.lower() for url in urls)})
        redirected = "".join(f"\n\tinsteadOf = {url}" for url in spelled)
        # A plain path: git then copies the objects instead of asking for all of a commit's.
        lines.append(f'[url "@PACK@/git/{key}"]{redirected}')
    (target / "gitconfig").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def add_tree(tree: Path, target: Path) -> None:
    """Copy what a build with ``--only`` reads."""
    target.mkdir()
    for name in TREE:
        copy = shutil.copytree if (tree / name).is_dir() else shutil.copy2
        copy(tree / name, target / name)


def add_python(target: Path) -> None:
    """Install what the doctor and its build part import, pure Python alone."""
    wanted = map(Requirement, metadata.requires("dsv4-doctor") or ())
    names = [
        str(each).partition(";")[0]
        for each in wanted
        if each.name not in LEFT_TO_IT and (each.marker is None or each.marker.evaluate(EXTRA))
    ]
    common = ["--quiet", "--disable-pip-version-check", "--no-compile", "--only-binary", ":all:"]
    platform = ["--python-version", "3.12", "--platform", "any", "--implementation", "py"]
    argv = [sys.executable, "-m", "pip", "install", *common, *platform, "--target", str(target)]
    subprocess.run([*argv, *names], check=True)


def add_packages(names: Iterable[str], target: Path) -> None:
    """Download Debian packages."""
    target.mkdir()
    for name in names:
        subprocess.run(["apt-get", "download", "-qq", name], check=True, cwd=target)


def projects(tree: Path, names: Sequence[str]) -> list[ExternalProject]:
    """Return the external projects of a tree's release that were asked for."""
    release = load.release(sources.identify(tree).version)
    return [each for each in release.external_projects if each.name in names]


def main() -> int:
    """Write the directory and say how large it is."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tree", type=Path, required=True, help="vLLM's sdist, unpacked")
    parser.add_argument("--git-mirror", type=Path, required=True, help="holds OWNER/NAME.git")
    parser.add_argument("--project", action="append", help="an external project; repeatable")
    parser.add_argument("--deb", action="append", default=[], help="a Debian package; repeatable")
    parser.add_argument("target", type=Path, help="the directory, written anew")
    given = parser.parse_args()
    target: Path = given.target.absolute()
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    packing = Packing(given.git_mirror.absolute())
    for project in projects(given.tree, given.project or PROJECTS):
        packing.add(project.repository, project.revision)
    packing.write(target / "git")
    write_configuration(packing, target)
    add_tree(given.tree, target / "tree")
    add_python(target / "site")
    add_packages(given.deb, target / "deb")
    size = sum(each.stat().st_size for each in target.rglob("*") if each.is_file())
    print(f"{target}: {size / 1e6:.1f} MB; submodules that are not there: {packing.absent}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
