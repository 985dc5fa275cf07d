"""Fat binaries: what each field means, and every way in which one can lie."""

from __future__ import annotations

import pytest
from tests.doctor.binary.builders import (
    CUBIN,
    LTO,
    LZ4,
    PTX,
    ZSTD,
    Entry,
    container,
    memory,
)

from dsv4_doctor.binary.fatbin import CONTAINER, ENTRY, Image, read_containers
from dsv4_doctor.binary.source import BinaryError


def read(data: bytes) -> list[Image]:
    return list(read_containers(memory(data), 0, len(data)))


@pytest.mark.parametrize(
    "name", ["sm_50", "sm_75", "sm_90", "sm_90a", "sm_100f", "sm_103a", "sm_120f", "sm_121"]
)
def test_architecture_with_its_suffix(name: str) -> None:
    (image,) = read(container(Entry(name)))
    assert image.arch.sm == name


def test_ptx_has_an_isa_and_other_kinds_have_none() -> None:
    images = read(container(Entry(kind=PTX, isa=(8, 1)), Entry(kind=CUBIN), Entry(kind=LTO)))
    assert [(image.kind, image.isa) for image in images] == [
        ("ptx", "8.1"),
        ("cubin", None),
        ("lto", None),
    ]


def test_a_kind_that_is_not_known_is_no_error() -> None:
    assert [image.kind for image in read(container(Entry(kind=77)))] == ["other"]


def test_compression_and_both_sizes() -> None:
    plain, lz4, zstd = read(
        container(
            Entry(payload=b"p" * 16),
            Entry(payload=b"l" * 16, flags=LZ4, compressed=13, size=100),
            Entry(payload=b"z" * 24, flags=ZSTD, compressed=20, size=200),
        )
    )
    assert [(each.compression, each.stored, each.size) for each in (plain, lz4, zstd)] == [
        ("none", 16, 16),
        ("lz4", 13, 100),
        ("zstd", 20, 200),
    ]


def test_payload_starts_after_a_header_with_options() -> None:
    data = container(Entry(header=ENTRY.size + 48, payload=b"12345678"))
    (image,) = read(data)
    assert data[image.offset :][: image.stored] == b"12345678"
    assert image.header == CONTAINER.size


def test_all_containers_with_padding_between_and_after() -> None:
    data = container(Entry("sm_80"))
    data += b"\0" * 24 + container() + container(Entry("sm_90"), Entry("sm_90a")) + b"\0" * 9000
    assert [image.arch.sm for image in read(data)] == ["sm_80", "sm_90", "sm_90a"]


def test_nothing_but_padding() -> None:
    assert read(b"") == []
    assert read(b"\0" * 20000) == []


def test_range_inside_a_file() -> None:
    data = b"\x7fELF junk" + container(Entry("sm_86")) + b"more junk"
    images = list(read_containers(memory(data), 9, len(data) - 18))
    assert [image.arch.sm for image in images] == ["sm_86"]


BROKEN = {
    "junk": b"junkjunkjunkjunk",
    "junk after padding": b"\0" * 16 + b"junkjunkjunkjunk",
    "a few bytes of junk at the end": container(Entry()) + b"junk",
    "other version": b"\x50\xed\x55\xba\x02\0\x10\0" + b"\0" * 8,
    "header shorter than itself": b"\x50\xed\x55\xba\x01\0\x08\0" + b"\0" * 8,
    "entry header shorter than itself": container(Entry(header=ENTRY.size)).replace(
        b"\x40\0\0\0", b"\x10\0\0\0"
    ),
    "payload longer than its container": container(Entry(stored=1 << 40)),
    "half an entry": CONTAINER.pack(0xBA55ED50, 1, 16, 8) + b"\0" * 8,
    "more compressed bytes than stored ones": container(Entry(flags=ZSTD, compressed=9)),
    "two compressions": container(Entry(flags=ZSTD | LZ4)),
    "two suffixes": container(Entry("sm_90a", flags=0x200000)),
    "architecture of nothing": container(Entry("sm_10")).replace(b"\x0a\0\0\0", b"\x01\0\0\0"),
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN.keys())
def test_a_lie_is_an_error_with_name_and_offset(data: bytes) -> None:
    with pytest.raises(BinaryError, match=r"^file: .* \(at offset 0x") as caught:
        read(data)
    assert 0 <= caught.value.offset <= len(data)


def test_truncated_at_every_byte() -> None:
    whole = container(Entry("sm_80", payload=b"p" * 16), Entry("sm_90a", kind=PTX))
    for length in range(1, len(whole)):
        with pytest.raises(BinaryError):
            read(whole[:length])


def test_section_that_would_end_outside_the_file() -> None:
    data = container(Entry())
    with pytest.raises(BinaryError, match="truncated"):
        list(read_containers(memory(data), 0, len(data) + 1))


def test_number_of_images_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dsv4_doctor.binary.fatbin._MAX_IMAGES", 3)
    assert len(read(container(*[Entry()] * 3))) == 3
    with pytest.raises(BinaryError, match="more than 3"):
        read(container(*[Entry()] * 4))
