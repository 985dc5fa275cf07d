from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.build.planning import vllm_tree
from tests.build.sources import upstream as making
from tests.build.sources.upstream import HOST, Upstream, git, pulled

from dsv4_build.sources import named, pull
from dsv4_build.sources.fetch import Fetcher
from dsv4_build.sources.git import COMMIT
from dsv4_build.sources.resolve import resolve
from dsv4_build.sources.store import Store
from dsv4_doctor.errors import BuildError, InputError, UsageError


def test_every_commit_is_brought_with_its_submodules(store: Store, upstream: Upstream) -> None:
    found = pulled(store, upstream)
    assert [(pin.name, pin.commit) for pin in found.pins] == [
        ("outer", upstream.commits["outer"]),
        ("outer/third_party/inner", upstream.commits["inner"]),
        ("outer/third_party/inner/deep", upstream.commits["deep"]),
        ("outer/third_party/rocm", upstream.commits["kernels"]),
    ]
    assert (found.missing, found.left_out) == ((), ())
    assert [name for name, _ in store.repositories()] == [
        "github.com/example/deep.git",
        "github.com/example/inner.git",
        "github.com/example/outer.git",
        "github.com/rocm/kernels.git",
    ]


def test_what_is_there_is_found_again_without_asking_anybody(
    filled: Store, upstream: Upstream
) -> None:
    found = resolve(filled, (upstream.project(),))
    assert len(found.pins) == 4
    assert {len(pin.tree) for pin in found.pins} == {40}
    assert found.missing == ()


def test_only_the_commit_itself_is_kept_of_a_history(filled: Store, upstream: Upstream) -> None:
    outer = filled.repository(f"{HOST}example/outer")
    assert outer.tell("rev-list", "--count", "--all").strip() == "1"


def test_a_submodule_that_is_left_out_is_not_fetched_and_is_named(
    store: Store, upstream: Upstream
) -> None:
    found = pulled(store, upstream, "ROCm/Kernels")
    assert [left.path for left in found.left_out] == ["third_party/rocm"]
    assert not store.repository(f"{HOST}rocm/kernels").exists()


def test_a_commit_that_does_not_exist_is_named_and_the_rest_is_there(
    store: Store, upstream: Upstream
) -> None:
    absent = "1" * 40
    projects = (
        making.project("none", f"{HOST}example/inner", absent),
        making.project("tag", f"{HOST}example/inner", "v9"),
        upstream.project(),
    )
    options = pull.Options(lambda _: None, upstream.mirror, (), dict(os.environ))
    found = pull.bring_projects(store, projects, options)
    assert [(each.name, each.revision) for each in found.missing] == [
        ("none", absent),
        ("tag", "v9"),
    ]
    assert all(each.reason for each in found.missing)
    assert len(found.pins) == 4


def test_a_server_that_gives_no_single_commit_gives_its_history(
    store: Store, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[tuple[str, ...]] = []
    real = Fetcher._try

    def refuse_exact(self: Fetcher, repository: object, *arguments: str) -> str:
        tried.append(arguments)
        if "--depth=1" in arguments:
            return "Server does not allow request for unadvertised object"
        return real(self, repository, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Fetcher, "_try", refuse_exact)
    url, hidden = f"{HOST}example/deep", upstream.commits["deep"]
    options = pull.Options(lambda _: None, upstream.mirror, (), dict(os.environ))
    found = pull.bring_projects(store, (making.project("deep", url, hidden),), options)
    assert [pin.commit for pin in found.pins] == [hidden]
    assert len(tried) == 2
    assert store.repository(url).pinned() == (hidden,)


def test_a_commit_beside_a_whole_history_and_beside_another_commit(
    store: Store, upstream: Upstream
) -> None:
    repository = store.repository(f"{HOST}Example/outer")
    pulled(store, upstream)
    main = git(upstream.mirror / "Example/outer.git", "rev-parse", "main")
    pulled(store, upstream, revision=main)
    assert repository.pinned() == tuple(sorted([upstream.commits["outer"], main]))
    assert COMMIT.fullmatch(repository.tell("rev-parse", "HEAD").strip())
    assert repository.ask("fsck", "--full").ok


def test_a_tag_that_moved_since_does_not_move_here(store: Store, tmp_path: Path) -> None:
    moving = making.make(tmp_path / "mirror")
    before = pulled(store, moving)
    git(moving.mirror / "Example/outer.git", "tag", "-f", "v1", "main")
    assert pulled(store, moving) == before


@pytest.mark.parametrize(
    "url", ["file:///etc/x.git", "ext::sh -c id", "/srv/x.git", "https://h/a/../b", "-oX:y/z"]
)
def test_addresses_that_read_files_or_run_programs_are_refused(store: Store, url: str) -> None:
    with pytest.raises(InputError, match="no address of a git repository"):
        resolve(store, (making.project("x", url, "1" * 40),))


def test_a_repository_of_a_caller_is_not_touched(
    store: Store, upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    git(own, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(own / ".git"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(own / ".git" / "objects"))
    assert len(pulled(store, upstream).pins) == 4
    assert not [each for each in (own / ".git" / "objects").rglob("*") if each.is_file()]


def test_git_that_is_not_there(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(BuildError, match="git does not answer"):
        store.repository(f"{HOST}a/b").create()


def test_a_checkout_is_taken_where_it_is(store: Store, upstream: Upstream, tmp_path: Path) -> None:
    tree = vllm_tree(tmp_path)
    options = pull.Options(lambda _: None, upstream.mirror, (), dict(os.environ) | _NO_NETWORK)
    found = pull.pull(store, str(tree), options)
    assert (found.vllm, found.place, found.archive) == ("0.24.0", str(tree), None)
    assert {each.project for each in found.resolved.missing} >= {"cutlass", "vllm-flash-attn"}
    assert not found.complete
    assert found.to_json()["missing"][0]["url"].startswith(HOST)


_NO_NETWORK = {"GIT_ALLOW_PROTOCOL": "file"}


def test_a_commit_of_vllm_becomes_a_checkout_that_knows_its_version(
    store: Store, tmp_path: Path
) -> None:
    mirror = tmp_path / "mirror"
    bare = making.repository(mirror, "vllm-project/vllm")
    files = {"CMakeLists.txt": b"project(vllm)\n", "setup.py": b"\n"}
    tagged = making.commit(bare, files)
    git(bare, "tag", "v0.24.0", tagged)
    later = making.commit(bare, {**files, "new": b"1\n"}, (), tagged)
    git(bare, "update-ref", "refs/pull/7/head", later)
    lines: list[str] = []
    options = pull.Options(lines.append, mirror, (), dict(os.environ) | _NO_NETWORK)
    found = pull.pull(store, tagged, options)
    assert found.vllm == "0.24.0"
    assert Path(found.place, "setup.py").is_file()
    assert named.find(store, tagged) == Path(found.place)
    assert named.find(store, later) is None


def test_a_name_that_is_nothing(store: Store) -> None:
    with pytest.raises(UsageError, match="unknown vLLM release"):
        pull.pull(store, "0.0.1", pull.Options(lambda _: None))


def test_one_pull_waits_for_another(store: Store, upstream: Upstream) -> None:
    said: list[str] = []
    with store.locked(said.append):
        child = subprocess.Popen(
            ["flock", "--nonblock", str(store.root / ".lock"), "true"], stderr=subprocess.DEVNULL
        )
        assert child.wait(timeout=30) == 1
