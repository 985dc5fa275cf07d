from __future__ import annotations

import io
import tarfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_build import sdist
from dsv4_doctor.errors import InputError

PKG_INFO = b"Metadata-Version: 2.4\nName: vllm\nVersion: 0.24.0\n\nText: no header\n"


def _sdist(path: Path, members: dict[str, bytes], *links: tuple[str, str]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(content), 1_700_000_000
            archive.addfile(info, io.BytesIO(content))
        for name, target in links:
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, target
            archive.addfile(link)
    return path


def test_what_it_says_of_itself(tmp_path: Path) -> None:
    members = {
        "vllm-0.24.0/sub/PKG-INFO": b"Name: other\n",
        "vllm-0.24.0/PKG-INFO": PKG_INFO,
    }
    found = sdist.metadata(_sdist(tmp_path / "a.tar.gz", members))
    assert (found.name, found.version, found.time) == ("vllm", "0.24.0", 1_700_000_000)
    assert len(found.sha256) == 64


def test_unpacking_gives_the_directory_inside(tmp_path: Path) -> None:
    archive = _sdist(
        tmp_path / "a.tar.gz", {"vllm-0.24.0/PKG-INFO": PKG_INFO, "vllm-0.24.0/a/b": b"x"}
    )
    sdist.unpack(archive, tmp_path / "tree")
    assert (tmp_path / "tree" / "a" / "b").read_bytes() == b"x"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.tar.gz", "tree"]


def test_without_metadata_it_is_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.tar\.gz: no sdist"):
        sdist.metadata(_sdist(tmp_path / "a.tar.gz", {"vllm/setup.py": b""}))


@pytest.mark.parametrize("name", ["../outside", "/tmp/outside", "vllm/../../outside"])
def test_nothing_is_written_outside(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="does not belong"):
        sdist.unpack(_sdist(tmp_path / "a.tar.gz", {name: b"x"}), tmp_path / "tree")
    assert [each.name for each in tmp_path.iterdir()] == ["a.tar.gz"]


@pytest.mark.parametrize("target", ["/etc/passwd", "../../../etc/passwd"])
def test_links_that_lead_outside_are_refused(tmp_path: Path, target: str) -> None:
    archive = _sdist(tmp_path / "a.tar.gz", {"vllm/a": b""}, ("vllm/link", target))
    with pytest.raises(InputError):
        sdist.unpack(archive, tmp_path / "tree")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_python_without_the_filter_unpacks_no_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sdist, "_HAS_FILTER", False)
    plain = _sdist(tmp_path / "a.tar.gz", {"vllm/a": b"x"})
    sdist.unpack(plain, tmp_path / "tree")
    assert (tmp_path / "tree" / "a").read_bytes() == b"x"
    linked = _sdist(tmp_path / "b.tar.gz", {"vllm/a": b""}, ("vllm/link", "a"))
    with pytest.raises(InputError, match="does not belong"):
        sdist.unpack(linked, tmp_path / "other")


def test_two_directories_are_no_sdist(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="2 things"):
        sdist.unpack(_sdist(tmp_path / "a.tar.gz", {"a/x": b"", "b/x": b""}), tmp_path / "tree")


@given(content=st.binary(max_size=600), cut=st.integers(0, 300), real=st.booleans())
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, cut: int, real: bool
) -> None:
    tmp_path = tmp_path_factory.mktemp("sdist")
    path = tmp_path / "a.tar.gz"
    if real:
        content = _sdist(path, {"v/PKG-INFO": PKG_INFO, "v/data": content}).read_bytes()
    path.write_bytes(content[: max(len(content) - cut, 0)])
    with suppress(InputError):
        sdist.metadata(path)
    with suppress(InputError):
        sdist.unpack(path, tmp_path / "tree")
