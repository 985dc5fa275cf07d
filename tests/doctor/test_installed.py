"""Installed distributions by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.binary.builders import Entry, library

from dsv4_doctor.cli.main import run
from dsv4_doctor.errors import InputError
from dsv4_doctor.installed import find, find_in, parse_record


def install(site: Path, name: str, files: dict[str, bytes], version: str = "1.0") -> Path:
    metadata = site / f"{name}-{version}.dist-info"
    for path, data in files.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_bytes(data)
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
    rows = "".join(f"{path},sha256=x,{len(data)}\n" for path, data in files.items())
    (metadata / "RECORD").write_text(rows + f"{metadata.name}/RECORD,,\n")
    return metadata


@pytest.fixture
def site(tmp_path: Path) -> Path:
    files = {
        "flash_mla/cuda.so": library(Entry("sm_90a")),
        "flash_mla/__init__.py": b"",
        "other/not_ours.so": library(Entry("sm_80")),
    }
    install(tmp_path, "flash_mla", files)
    (tmp_path / "other/not_ours.so").rename(tmp_path / "gone.so")
    return tmp_path


def test_files_come_from_its_record(site: Path) -> None:
    found = find_in([Path("/nowhere"), site], "Flash.MLA")
    assert found is not None
    assert (found.root, found.editable) == (site, False)
    assert "flash_mla/cuda.so" in found.files
    assert find_in([site], "flash") is None


def test_the_first_directory_wins(site: Path, tmp_path: Path) -> None:
    install(tmp_path / "first", "Flash_MLA", {"a.so": b""}, "2.0")
    found = find_in([tmp_path / "first", site], "flash-mla")
    assert found is not None
    assert found.root == tmp_path / "first"


@pytest.mark.parametrize("place", ["", "pkg_x", "src/pkg_x"])
def test_source_tree_that_is_imported_in_place(tmp_path: Path, place: str) -> None:
    metadata = install(tmp_path / "site", "pkg_x", {})
    tree = tmp_path / "a tree"
    url = {"url": f"file://{tmp_path}/a%20tree", "dir_info": {"editable": True}}
    (metadata / "direct_url.json").write_text(json.dumps(url))
    with pytest.raises(InputError, match="which is gone"):
        find_in([tmp_path / "site"], "pkg-x")
    (tree / place).mkdir(parents=True)
    found = find_in([tmp_path / "site"], "pkg-x")
    assert found is not None
    assert (found.root, found.editable) == (tree / place, True)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"dir_info": 3}', '{"dir_info": null}'])
def test_damaged_note_of_origin_says_nothing(site: Path, text: str) -> None:
    (site / "flash_mla-1.0.dist-info/direct_url.json").write_text(text)
    found = find_in([site], "flash-mla")
    assert found is not None
    assert not found.editable


def test_without_a_list_of_files(site: Path) -> None:
    (site / "flash_mla-1.0.dist-info/RECORD").unlink()
    with pytest.raises(InputError, match="RECORD"):
        find_in([site], "flash-mla")


def test_older_list_of_files(tmp_path: Path) -> None:
    metadata = tmp_path / "old-1.0.egg-info"
    metadata.mkdir()
    (metadata / "PKG-INFO").write_text("Name: old\n")
    (metadata / "installed-files.txt").write_text("../old/_C.so\n")
    found = find_in([tmp_path], "old")
    assert found is not None
    assert (found.root / found.files[0]).parent.resolve() == tmp_path / "old"


def test_command(
    site: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(site)
    monkeypatch.setattr("dsv4_doctor.installed.find", lambda name, python: find_in([site], name))
    assert run(["inspect", "flash-mla", "--require", "sm_90a", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in document["objects"]] == ["flash_mla/cuda.so"]
    # A directory of that name is what is meant.
    assert run(["inspect", "flash_mla", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["path"] == "flash_mla"


def test_neither_a_path_nor_installed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match="nor installed for"):
        find("no-such-distribution", None, {})
    with pytest.raises(InputError, match="not a Python interpreter"):
        find("vllm", "/nowhere/python", {})
    assert run(["inspect", "./no/such.whl"]) == 2
    assert "No such file" in capsys.readouterr().err


@given(st.text())
def test_any_record_is_a_list_of_names(text: str) -> None:
    assert all(parse_record(text))
