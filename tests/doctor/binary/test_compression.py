"""LZ4 and zstd: real images, every decoder that is here, damage, and bombs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.binary.builders import (
    FIXTURES,
    lz4_bomb,
    lz4_literals,
    memory,
    zstd_bomb,
    zstd_frame,
)

from dsv4_doctor.binary import lz4, zstd
from dsv4_doctor.binary.device_code import read_images

Decode = Callable[[bytes, int], "bytes | bytearray | memoryview"]


def _installed(find: Callable[[], Decode | None]) -> Decode:
    decode = find()
    if decode is None:
        pytest.skip("not installed here")
    return decode


@pytest.fixture(params=["_standard_library", "_zstandard", "_c_library"])
def zstd_decoder(request: pytest.FixtureRequest) -> Decode:
    return _installed(getattr(zstd, request.param))


@pytest.fixture(params=["in_python", "c_library"])
def lz4_decoder(request: pytest.FixtureRequest) -> Decode:
    if request.param == "in_python":
        return lz4.in_python
    return _installed(lz4.c_library)


@pytest.fixture
def no_zstd(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("_standard_library", "_zstandard", "_c_library"):
        monkeypatch.setattr(zstd, name, lambda: None)
    zstd.decoder.cache_clear()
    yield
    zstd.decoder.cache_clear()


def compressed_images(name: str) -> Iterator[tuple[bytes, int]]:
    source = memory((FIXTURES / name).read_bytes())
    for image in read_images(source).usable:
        if image.compression != "none":
            yield source.read(image.offset, image.stored), image.size


def decompresses(data: bytes, size: int) -> bool:
    """Whether zstd data decompresses to exactly so many bytes; any other error is a failure."""
    try:
        return len(zstd.decompress(data, size)) == size
    except ValueError:
        return False


def test_zstd_of_nvcc(zstd_decoder: Decode) -> None:
    decoded = [bytes(zstd_decoder(*each)) for each in compressed_images("zstd.o")]
    assert [each[:4] for each in decoded] == [b"\x7fELF", b"\n\n\n\n", b"\x7fELF"]
    assert [len(each) for each in decoded] == [size for _, size in compressed_images("zstd.o")]


def test_lz4_of_nvcc(lz4_decoder: Decode) -> None:
    decoded = [bytes(lz4_decoder(*each)) for each in compressed_images("lz4.o")]
    assert [each[:4] for each in decoded] == [b"\x7fELF", b"\n\n\n\n", b"\x7fELF"]
    assert [len(each) for each in decoded] == [size for _, size in compressed_images("lz4.o")]


def test_both_hold_the_same_code() -> None:
    ours = [bytes(lz4.decompress(*each)) for each in compressed_images("lz4.o")]
    if zstd.decoder() is None:
        pytest.skip("no zstd decoder here")
    assert ours == [bytes(zstd.decompress(*each)) for each in compressed_images("zstd.o")]


def test_zstd_output_never_exceeds_what_was_announced(zstd_decoder: Decode) -> None:
    with contextlib.suppress(ValueError):
        assert len(zstd_decoder(zstd_bomb(1 << 22), 1000)) <= 1001
    assert not decompresses(zstd_bomb(1 << 22), 1000)


@pytest.mark.parametrize("size", [0, 999, 1001, 1 << 20])
def test_zstd_of_another_length(size: int) -> None:
    if zstd.decoder() is None:
        pytest.skip("no zstd decoder here")
    assert decompresses(zstd_frame(b"x" * 1000), 1000)
    assert not decompresses(zstd_frame(b"x" * 1000), size)


@given(st.binary(max_size=200), st.integers(0, 300))
def test_zstd_damage_is_a_value_error(data: bytes, size: int) -> None:
    if zstd.decoder() is None:
        pytest.skip("no zstd decoder here")
    decompresses(data, size)


@pytest.mark.usefixtures("no_zstd")
def test_without_any_zstd_decoder() -> None:
    with pytest.raises(zstd.NoZstdError, match="libzstd"):
        zstd.decompress(zstd_frame(b"data"), 4)


def test_lz4_bomb_stops_at_what_was_announced(lz4_decoder: Decode) -> None:
    bomb = lz4_bomb(1 << 24)
    with pytest.raises(ValueError, match="announced"):
        lz4_decoder(bomb, 1 << 20)
    assert lz4_decoder(bomb, 1 << 24) == b"x" * (1 << 24)


@pytest.mark.parametrize("size", [0, 99, 101, 1 << 20])
def test_lz4_of_another_length(size: int) -> None:
    with pytest.raises(ValueError, match="announced"):
        lz4.decompress(lz4_literals(b"x" * 100), size)


@pytest.mark.parametrize(
    "data",
    [b"\x1fx\x00\x00\x00", b"\x1fx\x02\x00\x00", b"\x1f", b"\xff", b"\x50abc", b"\x1fx\x01"],
    ids=["no distance", "before the start", "no literal", "no length", "short", "half a match"],
)
def test_lz4_damage(lz4_decoder: Decode, data: bytes) -> None:
    with pytest.raises(ValueError, match="announced"):
        lz4_decoder(data, 100)


@given(st.binary(max_size=300), st.integers(0, 600))
def test_lz4_in_python_and_in_c_agree(data: bytes, size: int) -> None:
    native = lz4.c_library()

    def outcome(decode: Decode) -> bytes | None:
        try:
            out = bytes(decode(data, size))
        except ValueError:
            return None
        return out if len(out) == size else None

    ours = outcome(lz4.in_python)
    assert ours is None or len(ours) == size
    # The C library also refuses blocks that end otherwise than an encoder would end them.
    if native is not None and (theirs := outcome(native)) is not None:
        assert ours == theirs


@given(st.binary(max_size=600))
def test_lz4_literals(data: bytes) -> None:
    assert lz4.in_python(lz4_literals(data), len(data)) == data
