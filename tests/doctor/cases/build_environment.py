"""Reports of family 6: version from git, cmake, requirements of a build, headers."""

from __future__ import annotations

from dataclasses import replace

from tests.doctor.cases.case import Case
from tests.doctor.machines import PREFIX, healthy, with_packages

from dsv4_doctor.facts.build_tools import BuildTool
from dsv4_doctor.facts.build_tree import BuildTree
from dsv4_doctor.facts.compiler import HostCompilers
from dsv4_doctor.snapshot import Snapshot
from dsv4_doctor.target import Target

BUILD = Target("0.24.0", ("sm_90",), (), "build")


def tools(*changed: BuildTool) -> tuple[BuildTool, ...]:
    """Return the healthy machine's tools, some replaced."""
    names = {each.name for each in changed}
    kept = [each for each in healthy().build_tools or () if each.name not in names]
    return (*kept, *changed)


def _version(tree: BuildTree, names: tuple[str, ...], **more: object) -> Case:
    return Case(
        "F6-10",
        "vllm-project/vllm#13130",
        healthy(build_tree=tree, **more),
        replace(BUILD, release="0.7.2"),
        "build.tree.version",
        names=("SETUPTOOLS_SCM_PRETEND_VERSION=0.7.2", *names),
    )


def _image() -> Snapshot:
    used = healthy().compilers
    host = healthy().host
    assert used is not None
    assert host is not None
    bare = HostCompilers(used.found, used.used, used.used_because, system_headers=())
    return healthy(compilers=bare, host=replace(host, machine="aarch64"))


TREE = BuildTree("/workspace", vllm=True, sdist=False, work_tree=None)
CLONE = replace(TREE, work_tree="/workspace", tags=90)
NO_ROOT = "CMake Error: Could not find CMAKE_ROOT !!!"

CASES = (
    _version(TREE, ("/workspace", "no .git")),
    _version(
        replace(CLONE, owner=1000, git_error="fatal: detected dubious ownership in repository"),
        ("dubious ownership", "safe.directory"),
    ),
    _version(
        CLONE,
        ("git is not installed", "apt-get install -y git"),
        build_tools=tools(BuildTool("git", None, None)),
    ),
    Case(
        "F6-17",
        "vllm-project/vllm#10188",
        healthy(build_tools=tools(BuildTool("cmake", f"{PREFIX}/bin/cmake", "3.31.0", NO_ROOT))),
        BUILD,
        "build.tools.cmake",
        names=("CMAKE_ROOT", f"{PREFIX}/bin/cmake"),
    ),
    Case(
        "F6-19",
        "whyNLP/LCKV#17",
        healthy(python=with_packages(torch=None, distributions=())),
        BUILD,
        "build.python.requirements",
        "warn",
        names=("torch missing", "--no-build-isolation", "setuptools"),
    ),
    Case(
        "F6-20",
        "Dao-AILab/flash-attention#948",
        healthy(
            build_tree=BuildTree(
                "/home/me/project/flash_attn-2.5.8",
                vllm=False,
                sdist=True,
                work_tree="/home/me/project",
                tags=3,
            )
        ),
        BUILD,
        "build.tree.nested",
        "warn",
        names=("/home/me/project", "GIT_CEILING_DIRECTORIES=/home/me/project"),
    ),
    Case(
        "F6-22",
        "dp-web4/HRM sage/docs/VLLM_BUILD_STATUS.md",
        _image(),
        BUILD,
        "build.headers.system",
        "warn",
        names=("numa.h", "libnuma-dev"),
    ),
)
