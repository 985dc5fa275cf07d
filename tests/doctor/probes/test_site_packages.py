"""Installed distributions by the names of directories, and what is broken among them."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_doctor.facts.python import Distribution
from dsv4_doctor.probes import site_packages

if TYPE_CHECKING:
    from pathlib import Path


def install(site: Path, stem: str, metadata: str | None = "", *, time: float = 1e9) -> Path:
    """Write a metadata directory; ``""`` stands for the usual text, ``None`` for no file."""
    directory = site / f"{stem}.dist-info"
    directory.mkdir(parents=True)
    if metadata is not None:
        name, _, version = stem.partition("-")
        text = metadata or f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n\nLong text"
        (directory / "METADATA").write_text(text)
        os.utime(directory / "METADATA", (time, time))
    return directory


def versions(*sites: Path) -> list[tuple[str, str]]:
    scan = site_packages.scan(map(str, sites))
    return [(each.name, each.version) for each in scan.distributions]


def test_only_what_matters_by_name(tmp_path: Path) -> None:
    for stem in ("vllm-0.24.0", "requests-2.0", "torch-2.11.0+cu130", "nvidia_nccl_cu13-2.28.9"):
        install(tmp_path, stem)
    assert site_packages.scan([str(tmp_path)]).distributions == (
        Distribution("nvidia-nccl-cu13", "2.28.9", str(tmp_path)),
        Distribution("torch", "2.11.0+cu130", str(tmp_path)),
        Distribution("vllm", "0.24.0", str(tmp_path)),
    )


@pytest.mark.parametrize("stem", ["flash_attn-2.6.3", "Flash.Attn-2.6.3", "flash__attn-2.6.3"])
def test_names_are_normalised(tmp_path: Path, stem: str) -> None:
    install(tmp_path, stem)
    assert versions(tmp_path) == [("flash-attn", "2.6.3")]


@pytest.mark.parametrize("metadata", ["\x00\x01\x02", "Name: torch\n\nVersion: 9\n", "Version:\n"])
def test_broken_metadata_leaves_the_version_in_the_name(tmp_path: Path, metadata: str) -> None:
    install(tmp_path, "torch-2.11.0", metadata)
    assert versions(tmp_path) == [("torch", "2.11.0")]


def test_what_an_interrupted_removal_left_is_not_installed(tmp_path: Path) -> None:
    install(tmp_path, "torch-2.10.0", None)
    install(tmp_path, "~orch-2.9.0")
    (tmp_path / "triton").mkdir()
    assert versions(tmp_path) == []


def test_of_two_versions_the_one_installed_last_comes_first(tmp_path: Path) -> None:
    install(tmp_path, "torch-2.9.0", time=2e9)
    install(tmp_path, "torch-2.11.0", time=1e9)
    assert versions(tmp_path) == [("torch", "2.9.0"), ("torch", "2.11.0")]


def test_of_two_directories_the_one_imported_from_comes_first(tmp_path: Path) -> None:
    install(tmp_path / "first", "torch-2.9.0", time=1e9)
    install(tmp_path / "second", "torch-2.11.0", time=2e9)
    found = versions(tmp_path / "first", tmp_path / "second")
    assert found == [("torch", "2.9.0"), ("torch", "2.11.0")]


def test_eggs_of_setup_py_install(tmp_path: Path) -> None:
    egg = tmp_path / "flash_attn-2.6.3-py3.10-linux-x86_64.egg"
    (egg / "EGG-INFO").mkdir(parents=True)
    (egg / "EGG-INFO/PKG-INFO").write_text("Name: flash_attn\nVersion: 2.6.3\n")
    scan = site_packages.scan([str(tmp_path)])
    assert scan.distributions == (Distribution("flash-attn", "2.6.3", str(egg)),)
    assert scan.roots == (tmp_path, egg)


def test_egg_info_as_directory_and_as_file(tmp_path: Path) -> None:
    (tmp_path / "triton.egg-info").mkdir()
    (tmp_path / "triton.egg-info/PKG-INFO").write_text("Version: 3.6.0\n")
    (tmp_path / "numpy-1.26.4.egg-info").write_text("Version: 1.26.4\n")
    assert versions(tmp_path) == [("numpy", "1.26.4"), ("triton", "3.6.0")]


def test_a_source_tree_of_an_editable_installation(tmp_path: Path) -> None:
    site, tree = tmp_path / "site", tmp_path.resolve() / "vllm-src"
    install(site, "vllm-0.24.0")
    tree.mkdir()
    (site / "__editable__.vllm.pth").write_text(f"# a comment\n{tree}\nimport finder\n/gone\n")
    assert site_packages.scan([str(site)]).roots == (site, tree)


def test_the_newline_that_windows_writes(tmp_path: Path) -> None:
    install(tmp_path, "torch-2.0", "Name: torch\r\nVersion: 2.11.0\r\n\r\nText")
    assert versions(tmp_path) == [("torch", "2.11.0")]


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    assert versions(tmp_path / "gone") == []


@pytest.mark.parametrize(
    ("stem", "expected"),
    [
        ("torch-2.11.0+cu130", ("torch", "2.11.0+cu130")),
        ("flash_attn-2.6.3-py3.10-linux-x86_64", ("flash-attn", "2.6.3")),
        ("triton", ("triton", "")),
        ("", ("", "")),
    ],
)
def test_names_of_metadata_directories(stem: str, expected: tuple[str, str]) -> None:
    assert site_packages.split_name(stem) == expected


@given(st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    name, _ = site_packages.split_name(text)
    assert site_packages.normalise(name) == name
    site_packages.parse_version(text)
    assert all(site_packages.parse_paths(text))


def test_what_packages_ask_of_each_other(tmp_path: Path) -> None:
    text = (
        "Name: vllm\nVersion: 0.24.0\nRequires-Dist: torch==2.11.0\nRequires-Dist: requests\n"
        'Requires-Dist: nvidia-cutlass-dsl[cu13]==4.5.2\nRequires-Dist: ray; extra == "ray"\n\n'
        "Requires-Dist: numpy\n"
    )
    directory = install(tmp_path, "vllm-0.24.0", text)
    (directory / "direct_url.json").write_text('{"url": "https://me:word@x/vllm.whl?token=1"}')
    install(tmp_path, "jinja2-3.1.6", text.replace("vllm", "jinja2"))
    jinja2, vllm = site_packages.scan([str(tmp_path)]).distributions
    assert vllm.requires == ("torch==2.11.0", "nvidia-cutlass-dsl[cu13]==4.5.2")
    assert vllm.origin == "https://x/vllm.whl"
    # Of packages that are tied to none nothing more is read.
    assert (jinja2.requires, jinja2.origin) == ((), None)


def test_requirements_behind_the_first_four_kilobytes(tmp_path: Path) -> None:
    many = "".join(f"Requires-Dist: package-{number}\n" for number in range(400))
    text = f"Name: vllm\nVersion: 0.24.0\n{many}Requires-Dist: torch==2.11.0\n\n"
    install(tmp_path, "vllm-0.24.0", text)
    (vllm,) = site_packages.scan([str(tmp_path)]).distributions
    assert vllm.requires == ("torch==2.11.0",)


def test_an_editable_tree_is_imported_from(tmp_path: Path) -> None:
    tree = tmp_path / "my vllm"
    tree.mkdir()
    site = tmp_path / "site-packages"
    directory = install(site, "vllm-0.24.0.dev1")
    note = {"url": f"file://{tmp_path}/my%20vllm", "dir_info": {"editable": True}}
    (directory / "direct_url.json").write_text(json.dumps(note))
    assert site_packages.scan([str(site)]).roots == (site, tree)
    (directory / "direct_url.json").write_text(json.dumps({**note, "dir_info": {}}))
    assert site_packages.scan([str(site)]).roots == (site,)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"url": 1}', "null", '{"url": null}'])
def test_a_damaged_note_of_the_origin(text: str) -> None:
    assert site_packages.parse_origin(text) is None
    assert site_packages.parse_editable(text) is None


@given(st.text())
def test_any_metadata(text: str) -> None:
    assert all(isinstance(each, str) for each in site_packages.parse_requires(text))
    site_packages.parse_origin(text)
    site_packages.parse_editable(text)
