"""Opening sdists and checkouts, good and bad."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.doctor.knowledge.extract import trees

from dsv4_doctor.errors import EXIT_USAGE, InputError
from dsv4_doctor.knowledge.extract.tree import open_tree


def test_an_sdist_and_a_directory_hold_the_same(tmp_path: Path) -> None:
    packed = open_tree(trees.sdist(tmp_path / "vllm.tar.gz"))
    plain = open_tree(trees.directory(tmp_path / "tree"))
    assert packed.content == plain.content
    assert packed.version == plain.version == "0.24.0"
    assert len(packed.sha256) == 64
    assert plain.sha256 == ""
    assert packed.text("no/such/file") is None


def test_a_checkout_without_metadata_has_a_version_file(tmp_path: Path) -> None:
    version = {"vllm/_version.py": "__version__ = version = '0.34.0.dev7+g1234'\n"}
    tree = trees.directory(tmp_path, **version)
    (tree / "PKG-INFO").unlink()
    assert open_tree(tree).version == "0.34.0.dev7+g1234"


def test_a_checkout_that_says_no_version(tmp_path: Path) -> None:
    tree = trees.directory(tmp_path)
    (tree / "PKG-INFO").unlink()
    with pytest.raises(InputError, match="version is not known"):
        open_tree(tree)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"PKG-INFO": "Name: torch\nVersion: 1\n\n"}, "of torch, not of vLLM"),
        ({"PKG-INFO": "Name: vllm\n\n"}, "not of vLLM"),
    ],
)
def test_another_project(tmp_path: Path, changed: dict[str, str], named: str) -> None:
    with pytest.raises(InputError, match=named) as raised:
        open_tree(trees.sdist(tmp_path / "x.tar.gz", **changed))
    assert raised.value.exit_code == EXIT_USAGE
    assert str(raised.value).startswith(str(tmp_path / "x.tar.gz"))


def test_a_directory_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text("")
    with pytest.raises(InputError, match=r"no source tree of vLLM.*pyproject\.toml, CMakeLists"):
        open_tree(tmp_path)


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        open_tree(tmp_path / "vllm-0.15.0.tar.gz")


@pytest.mark.parametrize("name", ["../evil.py", "vllm-0.24.0/../../evil.py", "/etc/evil.py"])
def test_a_path_that_climbs_out(tmp_path: Path, name: str) -> None:
    path = tmp_path / "vllm.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.size = 1
        archive.addfile(member, io.BytesIO(b"x"))
    with pytest.raises(InputError, match="climbs out"):
        open_tree(path)
    assert [each.name for each in tmp_path.iterdir()] == ["vllm.tar.gz"]


@given(cut=st.floats(min_value=0.0, max_value=0.999))
@settings(max_examples=25, deadline=None)
def test_a_truncated_sdist(tmp_path_factory: pytest.TempPathFactory, cut: float) -> None:
    path = trees.sdist(tmp_path_factory.mktemp("cut") / "vllm.tar.gz")
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * cut)])
    with pytest.raises(InputError, match=r"cannot be read as an sdist|no source tree"):
        open_tree(path)


@given(st.binary(max_size=200))
@settings(max_examples=30, deadline=None)
def test_any_bytes_are_refused_or_read(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.mktemp("bytes") / "vllm.tar.gz"
    path.write_bytes(data)
    with pytest.raises(InputError):
        open_tree(path)


def test_an_sdist_that_unpacks_to_more_than_any_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dsv4_doctor.knowledge.extract.tree._LARGEST_WHOLE", 2000)
    with pytest.raises(InputError, match="unpacks to more than"):
        open_tree(trees.sdist(tmp_path / "vllm.tar.gz"))
