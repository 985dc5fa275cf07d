"""The directory that a build runs in: version from git, other work trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsv4_doctor.checks import remedies
from dsv4_doctor.checks.registry import Context, check
from dsv4_doctor.knowledge import stack
from dsv4_doctor.report import Command, Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsv4_doctor.facts.build_tree import BuildTree
    from dsv4_doctor.report import Status

_OVERRIDES = ("SETUPTOOLS_SCM_PRETEND_VERSION", "VLLM_VERSION_OVERRIDE")


@check(
    "build.tree.version",
    "version from git",
    reads=("build_tools", "build_tree", "environment", "host"),
    reports=("vllm-project/vllm#13130",),
    fix="Build in a clone with its tags, or say the version in SETUPTOOLS_SCM_PRETEND_VERSION.",
)
def version(context: Context) -> Iterator[Finding]:
    """Whether setuptools-scm can tell vLLM's version in this tree.

    It asks git. In a tarball of a checkout, in an image build without ``.git``, in a tree of
    another user or without git itself, the build ends with "setuptools-scm was unable to detect
    version"; in a shallow clone without tags the version is wrong.
    """
    tree = _tree(context)
    known = stack.build_requirements(context.release.name)
    by_git = known is None or any("setuptools-scm" in each for each in known.names)
    if tree is None or not tree.vllm or tree.sdist or not by_git:
        return
    environment = context.snapshot.environment or {}
    given = next((name for name in environment if name.startswith(_OVERRIDES)), None)
    problem = None if given else _problem(context, tree)
    weak = problem is None and given is None and tree.tags == 0
    status: Status = "fail" if problem else ("warn" if weak else "pass")
    title = f"the version of vLLM comes from {given or 'git'}"
    if weak:
        kind = "shallow clone" if tree.shallow else "clone"
        title = f"{tree.path} is a {kind} without tags: the version will be wrong"
    yield Finding(
        "build.tree.version",
        status,
        problem or title,
        found=given or tree.work_tree or "no .git",
        expected="a clone with its tags, of this user",
        evidence=(Evidence(tree.git_error or f"{tree.tags} tags", tree.work_tree or tree.path),),
        remedy=None if status == "pass" else _remedy(context, tree),
    )


def _tree(context: Context) -> BuildTree | None:
    """Return the directory of a build; facts that come from a text know of none."""
    tree = context.snapshot.build_tree
    if not context.target.builds or (tree is None and context.snapshot.probe("build_tree") is None):
        return None
    return context.need("build_tree", tree)


def _problem(context: Context, tree: BuildTree) -> str | None:
    if tree.work_tree is None:
        return f"{tree.path} has no .git: setuptools-scm cannot tell the version"
    if _no_git(context):
        return "git is not installed: setuptools-scm cannot tell the version"
    if tree.git_error is not None:
        return f"git refuses {tree.work_tree}, which belongs to another user: {tree.git_error}"
    return None


def _no_git(context: Context) -> bool:
    tools = context.snapshot.build_tools or ()
    return any(each.name == "git" and each.path is None for each in tools)


def _remedy(context: Context, tree: BuildTree) -> Remedy:
    pretend = Command(env={"SETUPTOOLS_SCM_PRETEND_VERSION": context.release.name})
    if tree.git_error is not None and tree.work_tree is not None:
        trust = ("git", "config", "--global", "--add", "safe.directory", tree.work_tree)
        return Remedy(
            "tell git to trust the tree, or say the version", (Command(argv=trust), pretend)
        )
    if _no_git(context):
        git = remedies.install_package(context.snapshot.host, debian="git", redhat="git")
        return Remedy("install git, or say the version", (*git, pretend))
    if tree.work_tree is not None:
        whole = ("--unshallow",) if tree.shallow else ()
        argv = ("git", "-C", tree.work_tree, "fetch", "--tags", *whole)
        return Remedy("fetch the tags, or say the version", (Command(argv=argv), pretend))
    return Remedy("say the version, or build in a clone with its tags", (pretend,))


@check(
    "build.tree.nested",
    "source distribution inside a work tree",
    reads=("build_tree",),
    reports=("Dao-AILab/flash-attention#948",),
    fix="Unpack and build it outside of any git work tree.",
)
def nested(context: Context) -> Iterator[Finding]:
    """Whether a source distribution lies inside somebody else's git work tree.

    Its setup.py calls git, which answers for the tree around it: "pathspec 'csrc/cutlass' did not
    match any file(s) known to git", or a version of the other project.
    """
    tree = _tree(context)
    if tree is None or not tree.sdist or tree.work_tree in {None, tree.path}:
        return
    yield Finding(
        "build.tree.nested",
        "warn",
        f"{tree.path} is a source distribution inside the git work tree {tree.work_tree}",
        found=tree.work_tree,
        expected="no git work tree around it",
        evidence=(Evidence("PKG-INFO", tree.path), Evidence(".git", tree.work_tree)),
        remedy=Remedy(
            "move it out of that work tree, or let git look no further up",
            (Command(env={"GIT_CEILING_DIRECTORIES": tree.path.rpartition("/")[0] or "/"}),),
        ),
    )


@check(
    "build.sources.override",
    "source trees for the build",
    reads=("build_tree",),
    fix="Name a checkout with its submodules, or unset the variable.",
)
def override(context: Context) -> Iterator[Finding]:
    """Whether the source trees that variables name for external projects are there.

    Such a variable replaces a download. Where its directory is gone the build stops while CMake
    configures, and does not fall back to downloading.
    """
    tree = _tree(context)
    if tree is None or not tree.overrides:
        return
    known = {each.override: each for each in context.release.external_projects}
    listed = ", ".join(f"{name}={value}" for name, value in tree.overrides.items())
    used = [name for name in tree.overrides if name in known]
    yield Finding(
        "build.sources.override",
        "fail" if used else "warn",
        f"no such source tree: {listed}",
        found=listed,
        expected="directories with checkouts",
        evidence=tuple(Evidence(value, name) for name, value in tree.overrides.items()),
        source=tuple(known[name].place.source(f"{name} replaces a download") for name in used),
        remedy=Remedy(
            "name a checkout with its submodules, or unset the variable so that it is downloaded",
            (Command(unset=tuple(tree.overrides)),),
        ),
    )
