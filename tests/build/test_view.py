from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_build import enter, view
from dsv4_build.view import OWN, Places, View, arrange, decide, prefix_of
from dsv4_doctor.errors import BuildError
from dsv4_doctor.process import run

# What a program sees of itself, as JSON.
_LOOK = """
import json, os, sys
print(json.dumps([os.getcwd(), sorted(os.listdir(sys.argv[1])), os.getuid(), os.getpid()]))
"""

PATHS = st.lists(st.sampled_from(["a", "b", "work", "cuda"]), min_size=1, max_size=4).map(
    lambda parts: "/" + "/".join(parts)
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A directory that can get a namespace, where this machine allows one."""
    place = tmp_path / "root"
    place.mkdir()
    refusal = view.try_namespace(place)
    if refusal is not None:
        pytest.skip(f"no mount namespace here: {refusal}")
    return place


def _tree(tmp_path: Path) -> Path:
    work = tmp_path / "somewhere" / "deep"
    (work / "build").mkdir(parents=True)
    (work / "file").touch()
    return work


def test_a_program_sees_its_directories_under_the_names(root: Path, tmp_path: Path) -> None:
    work = _tree(tmp_path)
    shown = View("namespace", ((str(work), f"{root}/work"),), root=str(root))
    argv = [sys.executable, "-I", "-c", _LOOK, f"{root}/work"]
    done = run(shown.enter(argv), limit=60, cwd=str(work / "build"))
    assert done.ok, done.stderr
    place, names, user, _ = json.loads(done.stdout)
    assert place == f"{root}/work/build"
    assert names == ["build", "file"]
    assert user == os.getuid()
    assert list(root.iterdir()) == []  # Nobody else sees anything of it.


def test_what_a_program_writes_is_there_afterwards(root: Path, tmp_path: Path) -> None:
    work = _tree(tmp_path)
    shown = View("namespace", ((str(work), f"{root}/work"),), root=str(root))
    assert run(shown.enter(["touch", f"{root}/work/made"]), limit=60).ok
    assert (work / "made").stat().st_uid == os.getuid()


def test_the_status_and_the_process_are_the_programs_own(root: Path, tmp_path: Path) -> None:
    shown = View("namespace", ((str(tmp_path), f"{root}/work"),), root=str(root))
    assert run(shown.enter(["sh", "-c", "exit 7"]), limit=60).returncode == 7
    done = run(shown.enter(["no-such-program"]), limit=60)
    assert done.returncode == enter.EXIT_NOT_FOUND
    assert "no-such-program" in done.stderr


def test_a_directory_that_is_not_there_is_said(root: Path, tmp_path: Path) -> None:
    shown = View("namespace", ((str(tmp_path / "none"), f"{root}/work"),), root=str(root))
    done = run(shown.enter(["true"]), limit=60)
    assert done.returncode == enter.EXIT_FAILED
    assert "no mount namespace" in done.stderr


@given(path=PATHS)
def test_names_lead_there_and_back(path: str) -> None:
    shown = View("namespace", (("/a/b", "/root/work"), ("/b", "/root/python")))
    seen = shown.seen(path)
    assert shown.real(seen) == path
    assert (seen != path) == (f"{path}/".startswith(("/a/b/", "/b/")))


def test_a_view_of_ones_own_changes_nothing() -> None:
    assert OWN.enter(["a", "b"]) == ["a", "b"]
    assert OWN.seen("/a") == OWN.real("/a") == "/a"
    OWN.link()


def test_without_a_namespace_links_give_the_names(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    python = tmp_path / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    places = Places(str(python), "/cache/toolchain")
    shown = arrange("fixed", "", str(tmp_path / "root" / "work"), places, tmp_path / "root")
    for _ in range(2):
        shown.link()
    assert (tmp_path / "root" / "python").resolve() == tmp_path / "venv"
    assert shown.seen(str(python)) == str(tmp_path / "root" / "python" / "bin" / "python")
    assert shown.seen("/cache/toolchain/bin/nvcc") == str(tmp_path / "root/cuda/bin/nvcc")
    assert shown.enter(["a"]) == ["a"]
    assert shown.parked == tmp_path / "root" / "parked"
    (tmp_path / "root" / "python").unlink()
    (tmp_path / "root" / "python").mkdir()
    with pytest.raises(BuildError, match="cannot be built under"):
        shown.link()


def test_a_toolkit_of_the_machine_and_its_own_python_keep_their_paths(tmp_path: Path) -> None:
    shown = arrange("namespace", "", "/w", Places("/usr/bin/python3"), tmp_path)
    assert shown.names == (("/w", f"{tmp_path}/work"),)
    assert arrange("own", "why", "/w", Places("/usr/bin/python3")).names == ()


def test_an_environment_is_known_by_what_is_in_it(tmp_path: Path) -> None:
    python = tmp_path / "bin" / "python"
    assert prefix_of(str(python)) is None
    (tmp_path / "lib" / "python3.12").mkdir(parents=True)
    assert prefix_of(str(python)) == str(tmp_path)
    assert prefix_of("/usr/bin/python3") is None


def test_how_it_is_done_is_decided_with_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    monkeypatch.setattr(view, "try_namespace", lambda root: None)
    root.mkdir()
    os.utime(root, (1000, 1000))
    assert decide("auto", root)[0] == "namespace"
    assert root.stat().st_mtime > 1000
    assert decide("fixed", root) == ("fixed", "--paths fixed")
    assert decide("own", tmp_path / "none") == ("own", "--paths own")
    monkeypatch.setattr(view, "try_namespace", lambda root: "Operation not permitted")
    assert decide("auto", root) == (
        "fixed",
        "there is no mount namespace: Operation not permitted",
    )
    with pytest.raises(BuildError, match="namespace: Operation not permitted"):
        decide("namespace", root)


def test_a_place_that_cannot_be_used_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view, "try_namespace", lambda root: "Operation not permitted")
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path)
    for place in (tmp_path / "file", tmp_path / "link" / "root"):
        kind, because = decide("auto", place)
        assert kind == "own"
        assert str(place) in because
    with pytest.raises(BuildError, match="through a link"):
        decide("fixed", tmp_path / "link" / "root")
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    assert decide("auto", tmp_path) == ("own", f"{tmp_path} belongs to somebody else")


def test_a_kernel_that_refuses_gives_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert view.try_namespace(tmp_path / "none") is not None
