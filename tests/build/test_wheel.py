from __future__ import annotations

import base64
import csv
import hashlib
import stat
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_build.source import ZIP_EPOCH
from dsv4_build.wheel import normalise
from dsv4_doctor.errors import BuildError

EPOCH = 1_700_000_000
RECORD = "demo-1.0.dist-info/RECORD"


def _wheel(path: Path, members: dict[str, bytes], mode: int = 0o100644) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name, (2021, 5, 6, 7, 8, 10))
            info.external_attr = mode << 16
            archive.writestr(info, content)
        archive.writestr(RECORD, "not yet written")
    return path


def test_order_times_and_modes_do_not_depend_on_the_backend(tmp_path: Path) -> None:
    members = {"demo/b.so": b"\x7fELF" * 100, "demo/a.py": b"", "demo-1.0.dist-info/WHEEL": b"W"}
    first = _wheel(tmp_path / "first.whl", members)
    second = _wheel(tmp_path / "second.whl", dict(reversed(members.items())), mode=0o100600)
    normalise(first, tmp_path / "one.whl", EPOCH)
    normalise(second, tmp_path / "two.whl", EPOCH)
    assert (tmp_path / "one.whl").read_bytes() == (tmp_path / "two.whl").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.whl") as archive:
        names = archive.namelist()
        info = archive.getinfo("demo/b.so")
    assert names == ["demo/a.py", "demo/b.so", "demo-1.0.dist-info/WHEEL", RECORD]
    assert info.date_time == (2023, 11, 14, 22, 13, 20)
    assert stat.S_IMODE(info.external_attr >> 16) == 0o644


def test_programs_stay_executable(tmp_path: Path) -> None:
    wheel = _wheel(tmp_path / "in.whl", {"demo/tool": b"#!"}, mode=0o100711)
    normalise(wheel, tmp_path / "out.whl", EPOCH)
    with zipfile.ZipFile(tmp_path / "out.whl") as archive:
        assert stat.S_IMODE(archive.getinfo("demo/tool").external_attr >> 16) == 0o755


def test_record_tells_the_truth(tmp_path: Path) -> None:
    wheel = _wheel(tmp_path / "in.whl", {"demo/x,y.py": b"print()"})
    normalise(wheel, tmp_path / "out.whl", EPOCH)
    with zipfile.ZipFile(tmp_path / "out.whl") as archive:
        rows = list(csv.reader(archive.read(RECORD).decode().splitlines()))
    digest = base64.urlsafe_b64encode(hashlib.sha256(b"print()").digest()).rstrip(b"=").decode()
    assert rows == [["demo/x,y.py", f"sha256={digest}", "7"], [RECORD, "", ""]]


@given(members=st.dictionaries(st.text("abc/._-", min_size=1, max_size=8), st.binary(max_size=50)))
def test_writing_it_twice_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, members: dict[str, bytes]
) -> None:
    tmp_path = tmp_path_factory.mktemp("wheel")
    files = {name: content for name, content in members.items() if not name.endswith("/")}
    wheel = _wheel(tmp_path / "in.whl", files)
    normalise(wheel, tmp_path / "once.whl", ZIP_EPOCH)
    normalise(tmp_path / "once.whl", tmp_path / "twice.whl", ZIP_EPOCH)
    assert (tmp_path / "once.whl").read_bytes() == (tmp_path / "twice.whl").read_bytes()


@given(content=st.binary(max_size=200))
def test_what_is_no_wheel_is_an_error_of_the_build(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    tmp_path = tmp_path_factory.mktemp("wheel")
    (tmp_path / "in.whl").write_bytes(content)
    with pytest.raises(BuildError, match=r"in\.whl"):
        normalise(tmp_path / "in.whl", tmp_path / "out.whl", EPOCH)
    assert not (tmp_path / "out.whl").exists()


@given(cut=st.integers(0, 400), flipped=st.integers(0, 399))
def test_a_damaged_wheel_is_an_error_of_the_build_or_harmless(
    tmp_path_factory: pytest.TempPathFactory, cut: int, flipped: int
) -> None:
    tmp_path = tmp_path_factory.mktemp("wheel")
    data = bytearray(_wheel(tmp_path / "in.whl", {"demo/a.py": b"a" * 200}).read_bytes())
    data[flipped] ^= 0xFF
    (tmp_path / "in.whl").write_bytes(data[: len(data) - cut])
    try:
        normalise(tmp_path / "in.whl", tmp_path / "out.whl", EPOCH)
    except BuildError:
        assert list(tmp_path.iterdir()) == [tmp_path / "in.whl"]


def test_added_metadata_is_recorded_like_everything_else(tmp_path: Path) -> None:
    members = {"demo/a.py": b"", "demo-1.0.dist-info/WHEEL": b"W"}
    wheel = _wheel(tmp_path / "in.whl", members)
    normalise(wheel, tmp_path / "out.whl", EPOCH, {"sboms/demo.cdx.json": b"{}"})
    added = "demo-1.0.dist-info/sboms/demo.cdx.json"
    with zipfile.ZipFile(tmp_path / "out.whl") as archive:
        assert archive.read(added) == b"{}"
        names = archive.namelist()
        rows = {row[0]: row[1:] for row in csv.reader(archive.read(RECORD).decode().splitlines())}
    assert names == ["demo/a.py", "demo-1.0.dist-info/WHEEL", added, RECORD]
    digest = base64.urlsafe_b64encode(hashlib.sha256(b"{}").digest()).rstrip(b"=").decode()
    assert rows[added] == [f"sha256={digest}", "2"]
    assert list(rows) == names


def test_metadata_that_the_wheel_has_already_is_not_written_over(tmp_path: Path) -> None:
    wheel = _wheel(tmp_path / "in.whl", {"demo-1.0.dist-info/sboms/a.json": b"theirs"})
    with pytest.raises(BuildError, match=r"sboms/a\.json already"):
        normalise(wheel, tmp_path / "out.whl", EPOCH, {"sboms/a.json": b"ours"})
