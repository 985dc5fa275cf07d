"""The way that CMake's FetchContent takes with real git and real CMake, from the cache alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.build import planning
from tests.build.sources import upstream as making
from tests.build.sources.upstream import HOST, Upstream, pulled

from dsv4_build.planner import make_plan
from dsv4_build.sources import bundle, pull, supply, unbundle
from dsv4_build.sources.git import Repository
from dsv4_build.sources.resolve import resolve
from dsv4_build.sources.store import Store
from dsv4_doctor.errors import BuildError, UsageError

_CMAKE = """
cmake_minimum_required(VERSION 3.24)
project(reader NONE)
include(FetchContent)
FetchContent_Declare(outer GIT_REPOSITORY {url} GIT_TAG {tag} {more})
FetchContent_MakeAvailable(outer)
file(GLOB_RECURSE found RELATIVE "${{outer_SOURCE_DIR}}" "${{outer_SOURCE_DIR}}/*.h*")
list(SORT found)
file(WRITE "${{CMAKE_BINARY_DIR}}/found.txt" "${{found}}")
"""


def _configure(tmp_path: Path, variables: dict[str, str], **spelled: str) -> list[str]:
    """Run CMake where no transport but local files exists; return the files that it fetched."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "CMakeLists.txt").write_text(_CMAKE.format_map(spelled))
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    cmake = Path(sys.executable).with_name("cmake")
    done = subprocess.run(
        [cmake, "-S", tmp_path / "tree", "-B", tmp_path / "build"],
        env=environ | variables | {"GIT_ALLOW_PROTOCOL": "file"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return (tmp_path / "build" / "found.txt").read_text().split(";")


_ALL = [
    "outer.h",
    "third_party/inner/deep/deep.h",
    "third_party/inner/inner.h",
    "third_party/rocm/kernel.hip",
]


@pytest.mark.real
@pytest.mark.parametrize("more", ["GIT_PROGRESS TRUE", "GIT_SHALLOW TRUE"])
@pytest.mark.parametrize("url", [f"{HOST}Example/outer.git", f"{HOST}Example/outer"])
def test_cmake_fetches_a_tag_with_its_submodules(
    filled: Store, tmp_path: Path, upstream: Upstream, url: str, more: str
) -> None:
    projects = (making.project("outer", url, "v1"),)
    found = supply.from_cache(filled, projects, (), {})
    assert found.complete
    assert _configure(tmp_path, found.variables, url=url, tag="v1", more=more) == _ALL


@pytest.mark.real
def test_cmake_fetches_a_commit_that_no_branch_has(
    filled: Store, tmp_path: Path, upstream: Upstream
) -> None:
    hidden, url = upstream.commits["deep"], f"{HOST}example/deep"
    found = supply.from_cache(filled, (making.project("deep", url, hidden),), (), {})
    assert _configure(tmp_path, found.variables, url=url, tag=hidden, more="") == ["deep.h"]


@pytest.mark.real
def test_cmake_fetches_commits_from_an_imported_cache(
    filled: Store, store: Store, tmp_path: Path, upstream: Upstream
) -> None:
    url, commit = upstream.project().repository, upstream.commits["outer"]
    project = upstream.project(commit)
    bundle.pack(filled, [], resolve(filled, (project,)).pins, tmp_path / "x.tar")
    unbundle.unpack(store, tmp_path / "x.tar", os.environ, lambda _: None)
    found = supply.from_cache(store, (project,), (), {})
    assert _configure(tmp_path, found.variables, url=url, tag=commit, more="") == _ALL


@pytest.mark.real
def test_cmake_skips_a_submodule_that_is_left_out(
    store: Store, tmp_path: Path, upstream: Upstream
) -> None:
    pulled(store, upstream, "rocm/kernels")
    project = upstream.project()
    found = supply.from_cache(store, (project,), ("rocm/kernels",), {})
    assert found.complete
    files = _configure(tmp_path, found.variables, url=project.repository, tag="v1", more="")
    assert files == _ALL[:3]


@pytest.mark.real
def test_cmake_takes_two_pins_of_one_repository(
    store: Store, tmp_path: Path, upstream: Upstream
) -> None:
    main = making.git(upstream.mirror / "Example/outer.git", "rev-parse", "main")
    pulled(store, upstream)
    pulled(store, upstream, revision=main)
    found = supply.from_cache(store, (upstream.project(main),), (), {})
    url = upstream.project().repository
    assert _configure(tmp_path, found.variables, url=url, tag=main, more="") == ["outer.h"]


def test_what_is_missing_is_named_with_the_way_to_bring_it(
    store: Store, upstream: Upstream
) -> None:
    found = supply.from_cache(store, (upstream.project(),), (), {})
    assert not found.complete
    assert found.variables == {}
    with pytest.raises(
        BuildError, match=r"outer: https://github\.com/Example/outer\.git v1"
    ) as error:
        found.require("0.24.0")
    assert "dsv4-doctor sources pull --vllm 0.24.0" in error.value.hint


def test_a_repository_that_lacks_a_commit_is_left_to_the_network(
    filled: Store, upstream: Upstream
) -> None:
    lacking = making.project("deep", f"{HOST}example/deep", "1" * 40)
    found = supply.from_cache(filled, (upstream.project(), lacking), (), {})
    sent = " ".join(found.variables.values())
    assert "example/inner" in sent
    assert "example/deep" not in sent


def test_a_name_that_a_needed_submodule_has_cannot_be_left_out(
    store: Store, tmp_path: Path
) -> None:
    mirror = tmp_path / "mirror"
    made: dict[str, str] = {}
    for name in ("one/lib", "two/lib"):
        made[name] = making.commit(making.repository(mirror, name), {"x": name.encode()})
    projects = []
    for name, inner in (("a/first", "one/lib"), ("a/second", "two/lib")):
        link = making.Link("lib", f"{HOST}{inner}", made[inner])
        revision = making.commit(making.repository(mirror, name), {"y": b"1"}, (link,))
        projects.append(making.project(name, f"{HOST}{name}", revision))
    options = pull.Options(lambda _: None, mirror, ("one/lib",), dict(os.environ))
    pull.bring_projects(store, projects, options)
    with pytest.raises(UsageError, match="submodule lib cannot be left out: a/second/lib"):
        supply.from_cache(store, projects, ("one/lib",), {})


def test_offline_git_knows_no_way_but_files(upstream: Upstream) -> None:
    environ = {**os.environ, **supply.Supply().cut_off().variables}
    bare = (upstream.mirror / "example/inner.git").as_uri()
    statuses = [
        subprocess.run(["git", "ls-remote", url], env=environ, capture_output=True, check=False)
        for url in (bare, "https://127.0.0.1:1/x.git")
    ]
    assert statuses[0].returncode == 0
    assert b"transport 'https' not allowed" in statuses[1].stderr


def test_equal_trees_are_equal_inputs_whatever_the_revision_is_called(
    filled: Store, upstream: Upstream
) -> None:
    by_tag = supply.from_cache(filled, (upstream.project(),), (), {})
    commit = upstream.commits["outer"]
    by_commit = supply.from_cache(filled, (upstream.project(commit),), (), {})
    assert by_tag.identity == by_commit.identity
    assert len(by_tag.identity) == 4


def test_a_clone_of_depth_one_has_every_pin(filled: Store, tmp_path: Path) -> None:
    for _, repository in filled.repositories():
        assert repository.ask("rev-parse", "--verify", "HEAD^{commit}").ok
        target = tmp_path / repository.path.name
        argv = ["git", "clone", "-q", "--bare", "--depth=1", "--no-single-branch"]
        subprocess.run([*argv, repository.path.as_uri(), str(target)], check=True)
        assert Repository(target).pinned() == repository.pinned()


def test_what_is_missing_of_a_checkout_is_pulled_by_its_path(tmp_path: Path) -> None:
    tree = planning.vllm_tree(tmp_path)
    wanted = planning.vllm_request(tree, toolchain="system", offline=True)
    planned = make_plan(wanted, planning.machine(), planning.around(tmp_path))
    assert supply.pulled_as(planned) == str(tree)
    with pytest.raises(BuildError, match="sources are missing:\n  cutlass: ") as error:
        planned.supply.require(supply.pulled_as(planned))
    assert f"sources pull --vllm {tree}" in error.value.hint
    assert planned.supply.variables["GIT_ALLOW_PROTOCOL"] == "file"
