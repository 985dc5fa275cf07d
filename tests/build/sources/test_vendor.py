"""Crates of a registry: from cargo's own cache into a bundle, and to a real cargo elsewhere."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_build.sources import bundle, isolation, unbundle, vendor, verify
from dsv4_build.sources.store import Store
from dsv4_build.sources.vendor import Crate
from dsv4_doctor.errors import BuildError, InputError
from dsv4_doctor.process import run

_INDEX = "registry+https://github.com/rust-lang/crates.io-index"


def _crate(directory: Path, name: str = "one", **files: str) -> Crate:
    """Write a crate where cargo keeps those that it downloaded."""
    content = {
        "Cargo.toml": f'[package]\nname = "{name}"\nversion = "1.0.0"\nedition = "2021"\n',
        "src/lib.rs": "pub const ONE: u8 = 1;\n",
    } | files
    target = directory / "registry" / "cache" / "index.crates.io-x" / f"{name}-1.0.0.crate"
    target.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(target, "w:gz") as archive:
        for path, text in content.items():
            member = tarfile.TarInfo(f"{name}-1.0.0/{path}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return Crate(name, "1.0.0", hashlib.sha256(target.read_bytes()).hexdigest())


def _lock(*crates: Crate) -> str:
    names = "".join(f' "{each.name}",\n' for each in crates)
    text = 'version = 4\n\n[[package]]\nname = "reader"\nversion = "0.1.0"\n'
    text += f"dependencies = [\n{names}]\n"
    for each in crates:
        text += f'\n[[package]]\nname = "{each.name}"\nversion = "{each.version}"\n'
        text += f'source = "{_INDEX}"\nchecksum = "{each.sha256}"\n'
    return text


@pytest.fixture
def crate(store: Store, tmp_path: Path) -> Crate:
    """A crate that the cache has."""
    made = _crate(tmp_path / "home")
    vendor.harvest(store, [made], tmp_path / "home")
    assert vendor.lacking(store, [made]) == []
    return made


@pytest.mark.real
def test_a_real_cargo_builds_from_the_cache_of_another_machine(
    store: Store, crate: Crate, tmp_path: Path
) -> None:
    if shutil.which("cargo") is None or not run(["cargo", "--version"], limit=60).ok:
        pytest.skip("no cargo runs here")
    bundle.pack(store, [], [], tmp_path / "x.tar", [crate])
    other = Store(tmp_path / "other" / "sources")
    unbundle.unpack(other, tmp_path / "x.tar", os.environ, lambda _: None)
    root = tmp_path / "work"
    rust = root / "source" / "rust"
    (rust / "src").mkdir(parents=True)
    (rust / "src" / "lib.rs").write_text("pub use one::ONE;\n")
    needs = '[dependencies]\none = "1"\n'
    package = '[package]\nname = "reader"\nversion = "0.1.0"\nedition = "2021"\n'
    (rust / "Cargo.toml").write_text(package + needs)
    (rust / "Cargo.lock").write_text(_lock(crate))
    assert vendor.lay_out(other, vendor.crates({"Cargo.lock": _lock(crate)}), root)
    environ = {"CARGO_HOME": str(tmp_path / "empty"), "CARGO_NET_OFFLINE": "true"}
    argv = [*isolation.probe().prefix, "cargo", "build", "--locked", "--quiet"]
    done = run(argv, env=environ, cwd=str(rust), limit=240)
    assert done.ok, done.stderr


def test_a_file_that_is_not_the_pinned_one_is_not_taken(store: Store, tmp_path: Path) -> None:
    made = _crate(tmp_path / "home")
    other = Crate(made.name, made.version, "0" * 64)
    vendor.harvest(store, [other], tmp_path / "home")
    assert vendor.lacking(store, [other]) == [other]


def test_nothing_is_laid_out_when_one_is_missing(
    store: Store, crate: Crate, tmp_path: Path
) -> None:
    root = tmp_path / "work"
    root.mkdir()
    assert not vendor.lay_out(store, [crate, Crate("two", "1.0.0", "0" * 64)], root)
    assert list(root.iterdir()) == []
    assert vendor.lay_out(store, [crate], root)
    assert not vendor.lay_out(store, [], root)
    assert list(root.iterdir()) == []


def test_a_crate_that_changed_in_the_cache(store: Store, crate: Crate, tmp_path: Path) -> None:
    (entry,) = verify.verify(store, os.environ)
    assert (entry.name, entry.error) == ("1 crates", "")
    vendor.place(store, crate.sha256).write_bytes(b"x")
    (entry,) = verify.verify(store, os.environ)
    assert entry.error == f"{crate.sha256}.crate is not what its name says"
    root = tmp_path / "work"
    root.mkdir()
    with pytest.raises(BuildError, match="is not what its name says"):
        vendor.lay_out(store, [crate], root)


def test_a_crate_that_climbs_out_is_not_imported(store: Store, tmp_path: Path) -> None:
    made = _crate(tmp_path / "home", **{"../../../escaped": "x"})
    vendor.harvest(store, [made], tmp_path / "home")
    bundle.pack(store, [], [], tmp_path / "x.tar", [made])
    other = Store(tmp_path / "other" / "sources")
    with pytest.raises(InputError, match="does not belong in an sdist"):
        unbundle.unpack(other, tmp_path / "x.tar", os.environ, lambda _: None)
    assert vendor.lacking(other, [made]) == [made]


_CRATES = st.builds(
    Crate,
    st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,8}", fullmatch=True),
    st.from_regex(r"[0-9]\.[0-9]\.[0-9](-rc\.[0-9])?(\+[a-z0-9]{1,4})?", fullmatch=True),
    st.from_regex(r"[0-9a-f]{64}", fullmatch=True),
)


@given(st.sets(_CRATES))
def test_the_crates_of_a_lock_are_read_back(wanted: set[Crate]) -> None:
    assert vendor.crates({"Cargo.lock": _lock(*wanted)}) == tuple(sorted(wanted))


@given(st.text() | st.text().map(lambda text: f"[[package]]\n{text}"))
def test_a_lock_of_any_text_names_no_place_outside(text: str) -> None:
    for crate in vendor.crates({"Cargo.lock": text}):
        assert "/" not in crate.file
        assert not crate.file.startswith(".")


@pytest.mark.parametrize("name", ["../x", ".x", "a/b", ""])
def test_a_name_that_is_none_is_passed_over(name: str) -> None:
    assert vendor.crates({"Cargo.lock": _lock(Crate(name, "1.0.0", "0" * 64))}) == ()
