"""The scripts of the knowledge: nothing is written on an error, and no index is no success."""

from __future__ import annotations

import functools
import hashlib
import http.server
import importlib
import json
import shutil
import tarfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest
from tests.doctor.knowledge.extract import trees

import sdists
from dsv4_doctor.knowledge import load

SCRIPTS = Path(__file__).parents[1] / "scripts"
KNOWLEDGE = SCRIPTS.parent / "doctor" / "dsv4_doctor" / "knowledge"
# A port on which nothing listens.
NOWHERE = "http://127.0.0.1:9/simple/"


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


class Call(Protocol):
    def __call__(self, script: str, *arguments: str | Path, index: str = NOWHERE) -> Done: ...


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Runs a script in this process, with a package index at an address."""

    def made(script: str, *arguments: str | Path, index: str = NOWHERE) -> Done:
        monkeypatch.setenv("PIP_INDEX_URL", index)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setattr("sys.argv", [script, *map(str, arguments)])
        status = importlib.import_module(script).main()
        said = capsys.readouterr()
        return Done(status, said.out, said.err)

    return made


def state() -> dict[str, bytes]:
    return {str(each): each.read_bytes() for each in KNOWLEDGE.rglob("*.json")}


def complete(path: Path, release: str = "0.24.0") -> Path:
    """An sdist of which everything can be established but what ``--incomplete`` lets pass."""
    metadata = trees.FILES["PKG-INFO"].replace("0.24.0", release)
    return trees.sdist(path, top=f"vllm-{release}", **{"PKG-INFO": metadata})


@pytest.fixture
def index(tmp_path: Path) -> Iterator[str]:
    """A package index with 0.34.0 as an sdist and 0.15.0 as a wheel only."""
    page = tmp_path / "index" / "simple" / "vllm"
    page.mkdir(parents=True)
    complete(page / "vllm-0.34.0.tar.gz", "0.34.0")
    complete(page / "vllm-0.24.0.tar.gz")
    names = ["vllm-0.34.0.tar.gz", "vllm-0.24.0.tar.gz", "vllm-0.15.0-cp38-abi3-linux_x86_64.whl"]
    links = "".join(f'<a href="{each}{digest(page / each)}">{each}</a>' for each in names)
    (page / "index.html").write_text(f"<!DOCTYPE html><html><body>{links}</body></html>")
    handler = functools.partial(Quiet, directory=str(tmp_path / "index"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/simple/"
        server.shutdown()
        thread.join()


def digest(path: Path) -> str:
    return f"#sha256={hashlib.sha256(path.read_bytes()).hexdigest()}" if path.is_file() else ""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


def truncated(path: Path) -> Path:
    path.write_bytes(trees.sdist(path).read_bytes()[:500])
    return path


def of_something_else(path: Path) -> Path:
    return trees.sdist(path, **{"PKG-INFO": "Metadata-Version: 2.1\nName: flask\nVersion: 1\n"})


def climbing(path: Path) -> Path:
    trees.sdist(path)
    with tarfile.open(path, "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("vllm-0.24.0/../../setup.py"))
    return path


@pytest.mark.parametrize("script", ["update_knowledge", "extract_release"])
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (truncated, "cannot be read as an sdist"),
        (of_something_else, "a source tree of flask, not of vLLM"),
        (climbing, "climbs out of the archive"),
        (lambda path: path, "no such file"),
    ],
    ids=["truncated", "something else", "climbing out", "nothing there"],
)
def test_a_bad_sdist_is_an_error_and_writes_nothing(
    call: Call, tmp_path: Path, script: str, make: Callable[[Path], Path], said: str
) -> None:
    before = state()
    action = ["--write"] if script == "extract_release" else []
    done = call(script, *action, make(tmp_path / "vllm.tar.gz"))
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stdout == ""
    assert state() == before


def test_an_sdist_with_gaps_or_a_checkout_writes_nothing(call: Call, tmp_path: Path) -> None:
    before = state()
    done = call("update_knowledge", trees.sdist(tmp_path / "vllm.tar.gz"))
    assert done.returncode == 1
    assert "not everything could be established" in done.stderr
    assert "fa3: compute_majors" in done.stderr
    done = call("extract_release", "--write", trees.directory(tmp_path / "tree"))
    assert done.returncode == 1
    assert "from a release's sdist only" in done.stderr
    assert state() == before


def test_a_tree_is_printed_and_one_that_differs_is_said_to(call: Call, tmp_path: Path) -> None:
    tree = str(trees.sdist(tmp_path / "vllm.tar.gz"))
    done = call("extract_release", tree)
    assert done.returncode == 0
    printed = json.loads(done.stdout)
    assert printed["release"] == "0.24.0"
    assert printed["torch"] == {"value": "2.11.0", "at": "pyproject.toml:5"}
    assert printed["tables"]["docker"]["CUDA_VERSION"] == {
        "default": "13.0.2",
        "at": "docker/Dockerfile:1",
    }
    assert "no flags of vllm serve" in done.stderr
    done = call("extract_release", "--check", tree)
    assert done.returncode == 1
    assert "0.24.0.json: DIFFERS" in done.stderr


def test_a_release_of_the_index_is_brought_in_by_its_number(
    call: Call, tmp_path: Path, index: str
) -> None:
    knowledge = tmp_path / "knowledge"
    (knowledge / "releases").mkdir(parents=True)
    shutil.copy(KNOWLEDGE / "flags.json", knowledge)
    action = ["--incomplete", "--knowledge", str(knowledge)]
    done = call("update_knowledge", *action, "0.34.0", index=index)
    assert done.returncode == 0, done.stderr
    data = json.loads((knowledge / "releases" / "0.34.0.json").read_text())
    assert data["release"] == "0.34.0"
    assert json.loads((knowledge / "flags.json").read_text())["releases"][-1] == "0.34.0"
    assert "to 0.34.0" in done.stdout
    assert "~ torch" in done.stdout


def test_the_new_releases_of_the_index_are_found(call: Call, tmp_path: Path, index: str) -> None:
    knowledge = tmp_path / "knowledge"
    (knowledge / "releases").mkdir(parents=True)
    done = call("update_knowledge", "--new", "--incomplete", "--knowledge", knowledge, index=index)
    assert done.returncode == 0
    assert f"newer than {load.release_names()[0]}: 0.34.0" in done.stderr
    assert [each.name for each in (knowledge / "releases").iterdir()] == ["0.34.0.json"]


def test_no_new_release_is_no_error(
    call: Call, index: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(load, "release_names", lambda: ("0.34.0",))
    with pytest.raises(SystemExit) as raised:
        call("update_knowledge", "--new", "--knowledge", tmp_path, index=index)
    assert raised.value.code == 0
    assert not list(tmp_path.glob("*.json"))


@pytest.mark.parametrize("arguments", [[], ["--new", "0.34.0"]])
def test_releases_are_named_or_the_new_ones_asked_for(call: Call, arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        call("update_knowledge", *arguments)
    assert raised.value.code == 2


@pytest.mark.parametrize(
    ("release", "said"),
    [
        ("0.15.0", "vLLM 0.15.0 has no source distribution on the package index, only wheels"),
        ("9.9.9", "the package index has no vLLM 9.9.9"),
        ("newest", "newest: no such file, and no release"),
    ],
)
def test_what_the_index_does_not_have(call: Call, index: str, release: str, said: str) -> None:
    before = state()
    done = call("update_knowledge", release, "0.34.0", index=index)
    assert done.returncode == 1
    assert said in done.stderr
    assert state() == before


@pytest.mark.parametrize("claimed", ["", f"#sha256={'0' * 64}"])
def test_a_download_that_is_not_what_the_index_says_is_refused(
    call: Call, tmp_path: Path, index: str, claimed: str
) -> None:
    page = tmp_path / "index" / "simple" / "vllm"
    real = digest(page / "vllm-0.34.0.tar.gz")
    (page / "index.html").write_text((page / "index.html").read_text().replace(real, claimed))
    before = state()
    done = call("update_knowledge", "--incomplete", "0.34.0", index=index)
    assert done.returncode == 1
    assert "the package index: " in done.stderr
    assert "igest" in done.stderr
    assert state() == before


def test_without_an_index_nothing_is_checked_and_that_is_no_success(call: Call) -> None:
    done = call("check_knowledge")
    assert done.returncode == 3
    newest, default = load.release_names()[0], load.default_release().name
    for name in (newest, default):
        assert f"{name}: NOT CHECKED: the package index cannot be reached" in done.stderr


def test_another_file_than_the_one_that_was_read_is_not_checked(
    call: Call, tmp_path: Path, index: str
) -> None:
    done = call("check_knowledge", "0.24.0", index=index)
    assert done.returncode == 3
    other = digest(tmp_path / "index" / "simple" / "vllm" / "vllm-0.24.0.tar.gz")
    assert f"the package index has a file with SHA-256 {other[8:]}" in done.stderr
    assert load.release("0.24.0").sdist_sha256 in done.stderr


def test_knowledge_that_is_not_what_the_sdist_says_differs(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = trees.sdist(tmp_path / "vllm.tar.gz")
    monkeypatch.setattr(sdists, "fetch", lambda *_: made)
    done = call("check_knowledge", "0.24.0")
    assert done.returncode == 1
    assert "0.24.0: DIFFERS: 0.24.0.json is not what is read in its sdist" in done.stderr
    assert "0.24.0: DIFFERS: variables.json: VLLM_CACHE_ROOT" in done.stderr
    assert f"0.24.0: DIFFERS: flags.json: {made}: no flags of vllm serve" in done.stderr
    assert "the same" not in done.stderr
