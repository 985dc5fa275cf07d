"""The tar reader against the standard library's, and against damage."""

from __future__ import annotations

import io
import tarfile
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.images.builders import Link, layer

from dsv4_doctor.binary.source import BinaryError
from dsv4_doctor.images.tar import BLOCK, Member, members


class Bytes:
    """Bytes that pass by."""

    def __init__(self, data: bytes) -> None:
        self.name = "x.tar"
        self.offset = 0
        self._data = data

    def read(self, size: int) -> bytes:
        data = self._data[self.offset : self.offset + size]
        self.offset += len(data)
        return data

    def skip(self, size: int) -> None:
        self.offset += size
        if self.offset > len(self._data):
            raise BinaryError(self.name, self.offset, "cut short")


def read(data: bytes) -> list[Member]:
    return list(members(Bytes(data)))


def outcome(data: bytes) -> list[Member] | BinaryError:
    try:
        return read(data)
    except BinaryError as error:
        return error


NAMES = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/"), min_size=1, max_size=120
).filter(lambda name: name not in {".", ".."})
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
FILES = st.dictionaries(
    PATHS,
    st.one_of(st.none(), st.binary(max_size=1500), st.builds(Link, PATHS, st.booleans())),
    max_size=6,
)


@given(FILES, st.sampled_from([tarfile.PAX_FORMAT, tarfile.GNU_FORMAT]))
def test_it_reads_what_the_standard_library_wrote(
    files: dict[str, bytes | Link | None], format_: int
) -> None:
    data = layer(files, format_=format_)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        expected = [(each.name, each.offset_data, each.size) for each in archive]
    found = read(data)
    assert [(each.name, each.offset, each.size) for each in found] == expected
    for each, content in zip(found, files.values(), strict=True):
        if isinstance(content, bytes):
            assert data[each.offset : each.offset + each.size] == content
        elif isinstance(content, Link):
            assert (each.kind, each.link) == ("link" if content.hard else "symlink", content.target)


@given(st.binary(max_size=2000))
def test_noise_is_refused_or_empty(data: bytes) -> None:
    if not data or data[:BLOCK].count(0) == len(data[:BLOCK]):
        assert read(data) == []
    else:
        with pytest.raises(BinaryError, match=r"^x\.tar"):
            read(data)


@given(st.data())
def test_damage_anywhere_is_one_documented_error(data: st.DataObject) -> None:
    whole = bytearray(layer({"a" * 150: b"x" * 600, "d": None, "l": Link("a")}))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(whole)))
    found = outcome(bytes(whole[:cut]))
    assert isinstance(found, list) or "at offset 0x" in str(found)


@pytest.mark.parametrize("name", ["../etc/passwd", "a/../../b", "/../x"])
def test_a_name_that_leads_out_is_refused(name: str) -> None:
    with pytest.raises(BinaryError, match="leads out of the image"):
        read(layer({name: b"x"}))


@pytest.mark.parametrize(("name", "inside"), [("./a/./b", "a/b"), ("/a//b", "a/b")])
def test_names_have_one_form(name: str, inside: str) -> None:
    assert [each.name for each in read(layer({name: b"x"}))] == [inside]


def test_an_extended_header_of_gigabytes_is_not_read() -> None:
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, 5 << 30
    header = info.tobuf(tarfile.GNU_FORMAT)
    tracemalloc.start()
    with pytest.raises(BinaryError, match="extended header of 5368709120 bytes"):
        read(header + bytes(BLOCK))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20


def test_a_number_in_base_256() -> None:
    info = tarfile.TarInfo("big")
    info.size = 9 << 33
    header = info.tobuf(tarfile.GNU_FORMAT)
    stream = members(Bytes(header))
    assert next(stream).size == 9 << 33


def test_a_size_in_an_extended_header_wins() -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo("a")
        info.size, info.pax_headers = 3, {"size": "3"}
        archive.addfile(info, io.BytesIO(b"abc"))
    assert [each.size for each in read(out.getvalue())] == [3]


def test_a_sparse_file_is_no_file_to_read() -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo("lib.so")
        info.size, info.pax_headers = 3, {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}
        archive.addfile(info, io.BytesIO(b"abc"))
    assert [each.kind for each in read(out.getvalue())] == ["other"]
