"""Files, archives and wheels: random access, damage, and what is never opened."""

from __future__ import annotations

import io
import os
import struct
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.binary.builders import Entry, Wheel, ar, container, library, memory

from dsv4_doctor.binary import inflate, wheel
from dsv4_doctor.binary.ar import members as ar_members
from dsv4_doctor.binary.device_code import read_images
from dsv4_doctor.binary.inflate import DeflatedMember
from dsv4_doctor.binary.inspection import inspect_path
from dsv4_doctor.binary.objects import open_objects
from dsv4_doctor.binary.source import BinaryError, DiskFile, Source, Window
from dsv4_doctor.binary.tap import HeaderTap
from dsv4_doctor.errors import InputError

ELF = b"\x7fELF"


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a few bytes, so that small members have many."""
    monkeypatch.setattr(inflate, "_BLOCK", 64)
    monkeypatch.setattr(inflate, "_PIECE", 16)


def open_wheel(path: Path, data: bytes) -> dict[str, Source | BinaryError]:
    path.write_bytes(data)
    return dict(wheel.members(path, memory(data), (ELF,)))


def content(source: Source | BinaryError) -> Source:
    assert not isinstance(source, BinaryError)
    return source


def test_disk_file_reads_ranges_open_or_not(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(range(256)))
    closed = DiskFile(path)
    assert (closed.size, closed.read(16, 2), closed.read(256, 0)) == (256, b"\x10\x11", b"")
    with DiskFile(path) as file:
        assert file.read(255, 1) == b"\xff"
    for offset, size in ((255, 2), (-1, 1), (0, 257), (0, -1), (1 << 70, 1)):
        with pytest.raises(BinaryError, match=f"^{path}: truncated"):
            closed.read(offset, size)


def test_disk_file_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    os.mkfifo(tmp_path / "pipe")
    for name, reason in (("empty", "empty"), ("gone", "No such file"), ("pipe", "not a regular")):
        with pytest.raises(InputError, match=reason):
            DiskFile(tmp_path / name)
    with pytest.raises(InputError, match="not a regular"):
        DiskFile(tmp_path)


def test_disk_file_that_shrinks_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 100)
    with DiskFile(path) as file:
        os.truncate(path, 50)
        with pytest.raises(BinaryError, match="shrank"):
            file.read(40, 20)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@given(data=st.data())
def test_member_can_be_read_at_any_offset(method: int, data: st.DataObject) -> None:
    body = ELF + data.draw(st.binary(max_size=700)) * 3
    whole = Wheel(method, {"lib.so": body}).data()
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        source = wheel.open_member(memory(whole), archive.infolist()[0])
    assert source.size == len(body)
    for _ in range(4):
        offset = data.draw(st.integers(0, len(body)))
        size = data.draw(st.integers(0, len(body) - offset))
        assert source.read(offset, size) == body[offset : offset + size]
    with pytest.raises(BinaryError, match="truncated"):
        source.read(0, len(body) + 1)


def test_only_objects_of_a_wheel_are_opened(tmp_path: Path) -> None:
    members = {
        "a/lib.abi3.so": ELF + b"1",
        "a/libx.so.12": ELF + b"2",
        "a/program": ELF + b"3",
        "a/notes": b"text",
        "a/module.py": ELF,
        "a/short": b"\x7f",
        "a/empty.so": b"",
        "a/dir/": b"",
    }
    found = open_wheel(tmp_path / "x.whl", Wheel(members=members).data())
    assert list(found) == ["a/lib.abi3.so", "a/libx.so.12", "a/program"]


def test_member_with_another_checksum_or_length(tmp_path: Path) -> None:
    data = bytearray(Wheel(members={"lib.so": ELF + b"x" * 500}).data())
    directory = data.rindex(b"PK\x01\x02")
    for offset, value in ((16, 0), (24, 400), (24, 600)):
        broken = bytearray(data)
        struct.pack_into("<I", broken, directory + offset, value)
        source = content(open_wheel(tmp_path / "x.whl", bytes(broken))["lib.so"])
        with pytest.raises(BinaryError, match="damaged"):
            source.read(0, 8)


def test_member_with_damaged_data(tmp_path: Path) -> None:
    data = bytearray(Wheel(members={"lib.so": ELF + os.urandom(3000)}).data())
    data[200:2000] = b"\xff" * 1800
    source = content(open_wheel(tmp_path / "x.whl", bytes(data))["lib.so"])
    with pytest.raises(BinaryError, match=r"^file: lib\.so: "):
        source.read(0, 3000)


def test_odd_member_does_not_hide_the_others(tmp_path: Path) -> None:
    data = bytearray(Wheel(members={"a.so": ELF, "b.so": ELF, "c.so": ELF}).data())
    first = data.index(b"PK\x01\x02")
    second = data.index(b"PK\x01\x02", first + 4)
    data[first + 8] |= 1
    struct.pack_into("<H", data, second + 10, zipfile.ZIP_LZMA)
    found = open_wheel(tmp_path / "x.whl", bytes(data))
    assert "encrypted" in str(found["a.so"])
    assert "method 14" in str(found["b.so"])
    assert content(found["c.so"]).read(0, 4) == ELF


def test_directory_that_points_nowhere(tmp_path: Path) -> None:
    data = bytearray(Wheel(members={"lib.so": ELF}).data())
    struct.pack_into("<I", data, data.rindex(b"PK\x01\x02") + 42, 7)
    found = open_wheel(tmp_path / "x.whl", bytes(data))
    assert isinstance(found["lib.so"], BinaryError)


def test_wheel_that_claims_to_inflate_to_more_than_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wheel, "_MAX_INFLATED", 10)
    with pytest.raises(BinaryError, match="inflate to more"):
        open_wheel(tmp_path / "x.whl", Wheel(members={"a.so": ELF * 2, "b.so": ELF}).data())


def test_damaged_member_and_member_without_a_name(tmp_path: Path) -> None:
    data = bytearray(Wheel(members={"bad.so": ELF, "good.so": ELF, "n": ELF}).data())
    struct.pack_into("<I", data, data.index(b"PK\x01\x02") + 16, 0)
    data[data.rindex(b"PK\x01\x02") + 46] = 0
    (tmp_path / "x.whl").write_bytes(data)
    bad, good = inspect_path(tmp_path / "x.whl").objects
    assert (bad.name, good.name) == ("bad.so", "good.so")
    assert "checksum" in (bad.error or "")
    assert "checksum" not in (good.error or "")


def test_truncated_wheel(tmp_path: Path) -> None:
    whole = Wheel(members={"lib.so": ELF + b"x" * 100}).data()
    for length in range(4, len(whole), 7):
        with pytest.raises(BinaryError, match=r"x.whl"):
            open_wheel(tmp_path / "x.whl", whole[:length])


def test_states_of_a_member_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inflate, "_MAX_BLOCKS", 4)
    body = ELF + bytes(range(256)) * 40
    source = content(open_wheel(tmp_path / "x.whl", Wheel(members={"l.so": body}).data())["l.so"])
    assert isinstance(source, DeflatedMember)
    assert source.read(5000, 3000) == body[5000:8000]
    assert len(source._states) == 4
    assert len(source._blocks._kept) <= 2


def test_headers_come_from_the_first_run() -> None:
    data = library(*(Entry(f"sm_{number}", payload=b"p" * 100) for number in (75, 80, 90)))
    tap = HeaderTap()
    for at in range(0, len(data), 37):
        tap.feed(at, data[at : at + 37])
    images = read_images(memory(data)).usable
    assert [tap.get(image.header, 64) for image in images] == [
        data[image.header : image.header + 64] for image in images
    ]
    assert tap.get(images[0].header - 16, 16) == data[images[0].header - 16 : images[0].header]
    assert tap.get(images[0].header, 16) is None


@given(st.lists(st.sampled_from([container(Entry()), container(), b"\0" * 8, b"U\xbaP\xed", b"x"])))
def test_tap_returns_only_what_passed(parts: list[bytes]) -> None:
    data = b"".join(parts)
    tap = HeaderTap()
    for at in range(0, len(data), 11):
        tap.feed(at, data[at : at + 11])
    for at in range(len(data)):
        for size in (16, 64):
            kept = tap.get(at, size)
            assert kept is None or kept == data[at : at + size]


def test_static_library() -> None:
    long_name = "a_member_with_a_long_name.cu.o"
    archive = memory(ar(("one.o", b"first"), (long_name, b"second")))
    assert [(each.name, each.read(0, each.size)) for each in ar_members(archive)] == [
        ("file(one.o)", b"first"),
        (f"file({long_name})", b"second"),
    ]


def test_static_library_of_bsd() -> None:
    data = b"!<arch>\n#1/8            0           0     0     100644  12        `\none.o\0\0\0body"
    assert [(each.name, each.read(0, 4)) for each in ar_members(memory(data))] == [
        ("file(one.o)", b"body")
    ]


def test_truncated_static_library() -> None:
    whole = ar(("one.o", b"firs"), ("two.o", b"second"))
    for length in range(9, len(whole)):
        if length in {8 + 64, 8 + 64 + 64}:
            continue  # exactly between two members
        with pytest.raises(BinaryError):
            list(ar_members(memory(whole[:length])))


def test_window_stays_inside() -> None:
    window = Window(memory(b"0123456789"), "part", 2, 5)
    assert window.read(1, 4) == b"3456"
    with pytest.raises(BinaryError, match=r"^part: truncated"):
        window.read(1, 5)
    with pytest.raises(BinaryError):
        Window(memory(b"0123"), "part", 2, 5)


def test_directory_names_each_object_once(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "libx.so.1").write_bytes(library(Entry()))
    (tmp_path / "libx.so").symlink_to("sub/libx.so.1")
    (tmp_path / "libgone.so").symlink_to("nowhere")
    (tmp_path / "libs.a").write_bytes(ar(("one.o", library()), ("text.o", b"text")))
    (tmp_path / "notes").write_text("text")
    (tmp_path / "tiny.so").write_bytes(b"\x7f")
    with open_objects(tmp_path) as opened:
        assert [each.name for each in opened] == ["libs.a(one.o)", "libx.so"]


def test_what_is_no_object_at_all(tmp_path: Path) -> None:
    (tmp_path / "script.so").write_text("#!/bin/sh\n")
    with pytest.raises(InputError, match="neither ELF"), open_objects(tmp_path / "script.so"):
        pass
