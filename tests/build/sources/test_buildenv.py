"""An isolated environment with a real uv, from wheels that are made here."""

from __future__ import annotations

import json
import platform
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.build.planning import request
from tests.build.sources.archives import vllm_sdist
from tests.build.sources.wheels import wheel

from dsv4_build import installers, source
from dsv4_build.sources import buildenv, prepare, resolution
from dsv4_build.sources.buildenv import Terms
from dsv4_build.sources.resolution import Wanted
from dsv4_build.tree import open_tree
from dsv4_doctor.errors import BuildError, InputError
from dsv4_doctor.process import run

_PYPROJECT = '[build-system]\nrequires = ["fake-torch==2.0", "fake-tool>=1"]\n'
_UNTIL = Terms(until="")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of wheels in place of the package index, and a cache of one's own."""
    directory = tmp_path / "wheels"
    directory.mkdir()
    wheel(directory, "fake-torch", "2.0", "fake-part")
    wheel(directory, "fake-torch", "2.1")
    wheel(directory, "fake-part", "3.0", content="MADE = 'here'\n")
    wheel(directory, "fake-tool", "1.5")
    monkeypatch.setenv("UV_FIND_LINKS", str(directory))
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("UV_NO_CONFIG", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return directory


def _tree(tmp_path: Path, pyproject: str = _PYPROJECT) -> Path:
    return vllm_sdist(tmp_path, pyproject=pyproject)


def _planned(tmp_path: Path, terms: Terms = _UNTIL) -> buildenv.BuildEnvironment:
    tree = open_tree(request(recipe=None, vllm=str(_tree(tmp_path))))
    made = buildenv.planned(tree, tmp_path / "cache" / "dsv4-doctor", lambda _: None, terms)
    assert made is not None
    return made


@pytest.mark.real
def test_what_the_tree_asks_for_is_installed_and_nothing_else(index: Path, tmp_path: Path) -> None:
    planned = _planned(tmp_path)
    said: list[str] = []
    buildenv.make(planned, said.append)
    assert planned.made
    assert "installing 3 packages" in said[0]
    found = run([planned.python, "-I", "-c", _LIST], limit=60)
    assert json.loads(found.stdout) == {"fake-part": "3.0", "fake-tool": "1.5", "fake-torch": "2.0"}


_LIST = (
    "import importlib.metadata as m, json, fake_part; assert fake_part.MADE == 'here';"
    "print(json.dumps({d.name: d.version for d in m.distributions()}))"
)


@pytest.mark.real
def test_the_same_question_has_the_same_answer_and_place(index: Path, tmp_path: Path) -> None:
    first = _planned(tmp_path)
    wheel(index, "fake-tool", "1.6")
    assert _planned(tmp_path) == first
    assert [each.version for each in resolution.packages(first.resolution, "")] == [
        "3.0",
        "1.5",
        "2.0",
    ]


@pytest.mark.real
def test_a_file_that_changed_since_is_not_installed(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = _planned(tmp_path)
    # uv keeps the file that it knows; another machine has only what the index now gives.
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "other"))
    wheel(index, "fake-part", "3.0", content="MADE = 'elsewhere'\n")
    with pytest.raises(BuildError, match=r"(?s)could not be made.*[Hh]ash") as error:
        buildenv.make(planned, lambda _: None)
    assert not planned.made
    assert "The log is in" in error.value.hint


@pytest.mark.real
def test_an_environment_that_was_left_half_made_is_made_anew(index: Path, tmp_path: Path) -> None:
    planned = _planned(tmp_path)
    (planned.place / "bin").mkdir(parents=True)
    (planned.place / "bin" / "python").write_text("#!/bin/sh\nexit 1\n")
    buildenv.make(planned, lambda _: None)
    assert run([planned.python, "-c", "import fake_torch"], limit=60).ok


@pytest.mark.real
def test_a_requirement_that_nobody_has(index: Path, tmp_path: Path) -> None:
    shutil.rmtree(index)
    index.mkdir()
    with pytest.raises(BuildError, match=r"(?s)could not be resolved.*fake-t"):
        _planned(tmp_path)


@pytest.mark.real
def test_a_lock_decides_without_an_index(index: Path, tmp_path: Path) -> None:
    text = _planned(tmp_path).resolution
    shutil.rmtree(tmp_path / "cache")
    again = _planned(tmp_path, Terms(locked_to=text, ask=False))
    assert again.resolution == text


@pytest.mark.real
def test_a_build_of_vllm_gets_an_environment_of_its_own(index: Path, tmp_path: Path) -> None:
    wanted = request(recipe=None, vllm=str(_tree(tmp_path)), exclude_newer="")
    said: list[str] = []
    looked = prepare.prepare(wanted, said.append, "look")
    assert (looked.python, looked.resolution, said) == (None, "", [])
    resolved = prepare.prepare(wanted, said.append, "resolve")
    assert (resolved.python, resolved.resolution.count("--hash")) == (None, 3)
    made = prepare.prepare(wanted, said.append)
    assert made.python is not None
    assert Path(made.python).is_file()
    assert "3 packages, each with its hash" in made.isolated
    assert prepare.prepare(wanted, said.append, "look") == made
    offline = request(recipe=None, vllm=wanted.vllm, exclude_newer="", offline=True)
    assert prepare.prepare(offline, said.append).python == made.python


def test_offline_says_that_there_is_no_environment(index: Path, tmp_path: Path) -> None:
    wanted = request(recipe=None, vllm=str(_tree(tmp_path)), offline=True)
    with pytest.raises(BuildError, match="not resolved yet, and --offline fetches nothing"):
        prepare.prepare(wanted, lambda _: None)


def test_an_interpreter_that_was_named_is_taken_as_it_is(tmp_path: Path) -> None:
    wanted = request(recipe=None, vllm=str(_tree(tmp_path)), python="/some/python")
    assert prepare.prepare(wanted, lambda _: None) == wanted


def test_the_smoke_tree_is_built_by_what_the_doctor_runs_in() -> None:
    assert prepare.prepare(request(), lambda _: None) == request()


def test_a_python_that_the_release_does_not_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "python_version", lambda: "3.99.0")
    wanted = request(recipe=None, vllm=str(_tree(tmp_path)))
    with pytest.raises(BuildError, match=r"needs Python >=3\.10,<3\.15 .*this is 3\.99\.0"):
        prepare.prepare(wanted, lambda _: None)


def test_packages_count_up_to_the_day_after_the_tree_was_made(tmp_path: Path) -> None:
    assert buildenv.newest(source.identify(_tree(tmp_path))) == "2026-01-03T00:00:00Z"
    assert buildenv.newest(source.embedded("smoke")) == ""


def test_the_requirements_of_the_smoke_tree() -> None:
    found = buildenv.requirements(source.embedded("smoke"))
    assert [each.partition(">")[0] for each in found] == ["cmake", "ninja", "setuptools", "wheel"]


def test_a_machine_without_uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installers, "find_spec", lambda _: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildError, match="needs uv"):
        resolution.uv()


def test_the_question_is_its_content_not_its_order() -> None:
    def key(*requirements: str, newest: str = "") -> str:
        return Wanted(requirements, sys.executable, "3.12.1", "x86_64", newest).key

    assert key("a", "b") == key("b", "a")
    assert key("a") != key("a", newest="2026-01-01T00:00:00Z")


_NAME = st.from_regex(r"[a-z0-9]+(-[a-z0-9]+)*", fullmatch=True)
_VERSION = st.from_regex(r"[0-9]+(\.[0-9]+){0,3}(\.post[0-9]|rc[0-9])?", fullmatch=True)
_DIGEST = st.from_regex(r"[0-9a-f]{64}", fullmatch=True)
_PACKAGES = st.lists(st.tuples(_NAME, _VERSION, st.lists(_DIGEST, min_size=1, unique=True)))


@given(_PACKAGES)
def test_a_resolution_is_read_back(wanted: list[tuple[str, str, list[str]]]) -> None:
    text = "".join(
        f"{name}=={version}" + "".join(f" \\\n    --hash=sha256:{each}" for each in sums) + "\n"
        for name, version, sums in wanted
    )
    found = resolution.packages(text, "x")
    assert [(each.name, each.version, list(each.sha256)) for each in found] == [
        (name, version, sorted(sums)) for name, version, sums in wanted
    ]


@given(st.text())
def test_a_resolution_of_any_text_has_a_hash_for_everything_or_is_refused(text: str) -> None:
    try:
        found = resolution.packages(text, "x")
    except InputError:
        return
    assert all(each.sha256 for each in found)


@pytest.mark.parametrize(
    "line",
    [
        "torch==2.0",
        "torch==2.0 ; python_version < '3.14' --hash=sha256:" + "0" * 64,
        "torch>=2.0 --hash=sha256:" + "0" * 64,
        "--index-url https://example.org",
        "-r other.txt",
        "torch @ https://example.org/t.whl --hash=sha256:" + "0" * 64,
        "torch==2.0 --hash=md5:" + "0" * 32,
        "torch==2.0 --hash=sha256:" + "0" * 64 + " -e .",
    ],
)
def test_what_would_install_something_else_is_refused(line: str) -> None:
    with pytest.raises(InputError, match="is no package with a version"):
        resolution.packages(line + "\n", "x")
