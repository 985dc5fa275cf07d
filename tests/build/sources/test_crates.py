"""Crates with a real cargo, whose only dependency is a git repository that is made here."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.build.planning import vllm_tree
from tests.build.sources import upstream as making
from tests.build.sources.upstream import HOST, git

from dsv4_build import source
from dsv4_build.sources import crates, isolation, pull, supply, warm
from dsv4_build.sources.model import Resolved
from dsv4_build.sources.store import Store
from dsv4_doctor.errors import BuildError, InputError
from dsv4_doctor.process import run

_URL = f"{HOST}example/some-crate"
_MANIFEST = b'[package]\nname = "some-crate"\nversion = "1.0.0"\nedition = "2021"\n'


def _lock(commit: str) -> str:
    return (
        "version = 4\n\n"
        '[[package]]\nname = "reader"\nversion = "0.1.0"\ndependencies = [\n "some-crate",\n]\n\n'
        f'[[package]]\nname = "some-crate"\nversion = "1.0.0"\n'
        f'source = "git+{_URL}?rev={commit}#{commit}"\n'
    )


@pytest.fixture
def commit(tmp_path: Path) -> str:
    """A crate's commit, which only a pull request has."""
    bare = making.repository(tmp_path / "mirror", "example/some-crate")
    made = making.commit(bare, {"Cargo.toml": _MANIFEST, "src/lib.rs": b"pub const ONE: u8 = 1;\n"})
    git(bare, "update-ref", "refs/pull/1/head", made)
    return made


@pytest.fixture
def tree(tmp_path: Path, commit: str) -> Path:
    """A vLLM tree with a Rust part."""
    made = vllm_tree(tmp_path)
    (made / "rust" / "src").mkdir(parents=True)
    (made / "rust" / "src" / "lib.rs").write_text("pub use some_crate::ONE;\n")
    (made / "rust" / "Cargo.toml").write_text(
        '[package]\nname = "reader"\nversion = "0.1.0"\nedition = "2021"\n'
        f'[dependencies]\nsome-crate = {{ git = "{_URL}", rev = "{commit}" }}\n'
    )
    (made / "rust" / "Cargo.lock").write_text(_lock(commit))
    return made


def _cargo(tmp_path: Path) -> dict[str, str]:
    if shutil.which("cargo") is None:
        pytest.skip("no cargo on PATH")
    found = {
        **os.environ,
        "CARGO_HOME": str(tmp_path / "cargo"),
        "CARGO_NET_GIT_FETCH_WITH_CLI": "true",
        "CARGO_NET_RETRY": "0",  # With pauses between: what cannot be had is not there later.
        "GIT_ALLOW_PROTOCOL": "file",
    }
    if not run(["cargo", "--version"], limit=60).ok:
        pytest.skip("cargo does not run")
    return found


def _brought(store: Store, tree: Path, tmp_path: Path) -> Resolved:
    needed = crates.projects(source.identify(tree), store)
    options = pull.Options(lambda _: None, tmp_path / "mirror", (), dict(os.environ))
    return pull.bring_projects(store, needed, options)


@pytest.mark.real
def test_cargo_takes_its_repositories_from_the_cache_and_compiles_without_a_network(
    store: Store, tree: Path, commit: str, tmp_path: Path
) -> None:
    environ = _cargo(tmp_path)
    found = _brought(store, tree, tmp_path)
    assert [(pin.name, pin.commit) for pin in found.pins] == [("crate some-crate", commit)]
    needed = crates.projects(source.identify(tree), store)
    environ |= supply.from_cache(store, needed, (), {}).variables
    alone = isolation.probe()
    crates.fetch(tree, environ, store.log, alone.ways(offline=True), lambda _: None)
    argv = [*alone.prefix, "cargo", "metadata", "--offline", "--locked", "--format-version=1"]
    done = run(argv, env=environ | {"CARGO_NET_OFFLINE": "true"}, cwd=str(tree / "rust"), limit=120)
    assert done.ok, done.stderr
    assert "some-crate" in done.stdout


@pytest.mark.real
def test_crates_that_cannot_be_had_are_named(store: Store, tree: Path, tmp_path: Path) -> None:
    environ = _cargo(tmp_path)
    with pytest.raises(BuildError, match=r"(?s)cannot bring the crates of .*some-crate"):
        crates.fetch(tree, environ, store.log, [()], lambda _: None)
    options = pull.Options(lambda _: None, None, (), environ)
    pulled = pull.Pulled("0.24.0", None, str(tree), Resolved(()))
    (missing,) = warm.bring(store, pulled, options).resolved.missing
    assert (missing.name, missing.revision) == ("crates", "Cargo.lock")
    assert missing.reason


def test_a_tree_without_rust_asks_nobody(store: Store, tmp_path: Path) -> None:
    tree = vllm_tree(tmp_path)
    crates.fetch(tree, {"PATH": "/nonexistent"}, store.log, [()], lambda _: None)
    assert crates.projects(source.identify(tree), store) == ()
    assert not store.log.exists()


def test_the_locks_of_an_sdist_are_found_once(
    store: Store, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sdist = tmp_path / "vllm-0.24.0.tar.gz"
    deep = tree / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "Cargo.lock").write_text(_lock("2" * 40))
    with tarfile.open(sdist, "w:gz") as archive:
        archive.add(tree, "vllm-0.24.0")
    identified = source.identify(sdist)
    first = crates.projects(identified, store)
    assert [project.repository for project in first] == [_URL]
    sdist.unlink()
    assert crates.projects(identified, store) == first


def test_a_broken_archive(store: Store, tmp_path: Path) -> None:
    broken = tmp_path / "x.tar.gz"
    broken.write_bytes(b"x")
    made = source.Source("sdist", str(broken), "1", "d" * 64, 0)
    with pytest.raises(InputError, match="cannot be read as an sdist"):
        crates.projects(made, store)


_WORD = st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True)
_COMMIT = st.from_regex(r"[0-9a-f]{40}", fullmatch=True)


@given(st.lists(st.tuples(_WORD, st.booleans(), _COMMIT)))
def test_git_crates_are_read_and_no_others(wanted: list[tuple[str, bool, str]]) -> None:
    text = io.StringIO()
    for name, is_git, commit in wanted:
        place = f"git+{HOST}x/{name}?tag=v1#{commit}" if is_git else "registry+https://index"
        text.write(f'[[package]]\nname = "{name}"\nversion = "1"\nsource = "{place}"\n\n')
    assert list(crates.git_crates(text.getvalue())) == [
        (name, f"{HOST}x/{name}", commit) for name, is_git, commit in wanted if is_git
    ]


@given(st.text())
def test_a_lock_of_any_text_gives_whole_commits_only(text: str) -> None:
    assert all(len(commit) == 40 for _, _, commit in crates.git_crates(text))
