"""From bytes to text: compression, encodings, control sequences, prefixes."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from dsv4_doctor.logs import opening, zstd_stream
from dsv4_doctor.logs.prefixes import strip
from dsv4_doctor.logs.text import TextReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TEXT = b"".join(b"line %d of a log that is long enough\n" % n for n in range(3_000))


def _zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


PACKERS: list[Callable[[bytes], bytes]] = [gzip.compress, bz2.compress, lzma.compress, _zstd]
PACKED = [each(TEXT) for each in PACKERS]


def _read(data: bytes) -> tuple[bytes, list[str]]:
    notes: list[str] = []
    return b"".join(opening.chunks(io.BytesIO(data), notes)), notes


def _clean(*pieces: bytes) -> tuple[bytes, list[str]]:
    reader = TextReader()
    return b"".join(reader.read(iter(pieces))), reader.notes


@pytest.mark.parametrize("pack", PACKERS)
def test_compressed_is_read(pack: Callable[[bytes], bytes]) -> None:
    assert _read(pack(TEXT)) == (TEXT, [])


@pytest.mark.parametrize("pack", PACKERS)
def test_several_members_are_one_log(pack: Callable[[bytes], bytes]) -> None:
    assert _read(pack(TEXT) + pack(b"the end\n")) == (TEXT + b"the end\n", [])


@pytest.mark.parametrize("pack", PACKERS)
def test_cut_short_gives_what_is_there_and_says_so(pack: Callable[[bytes], bytes]) -> None:
    packed = pack(TEXT)
    data, notes = _read(packed[: len(packed) * 2 // 3])
    assert TEXT.startswith(data)
    assert len(notes) == 1
    assert "cut short" in notes[0]


@pytest.mark.parametrize("whole", PACKED, ids=["gzip", "bzip2", "xz", "zstd"])
@given(place=st.floats(0.2, 0.9), value=st.integers(0, 255))
@settings(max_examples=25, deadline=None)
def test_damaged_never_raises(whole: bytes, place: float, value: int) -> None:
    packed = bytearray(whole)
    packed[int(len(packed) * place)] = value
    data, _ = _read(bytes(packed))
    assert len(data) <= len(TEXT) + opening.CHUNK


@given(st.binary(max_size=300))
@settings(deadline=None)
def test_any_bytes_are_read(data: bytes) -> None:
    for magic in (b"", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\x00", b"BZh"):
        _read(magic + data)


DECODERS: list[Callable[[], object]] = [
    zstd_stream._standard_library,
    zstd_stream._c_library,
    lambda: zstd_stream._zstandard([]),
]


@pytest.mark.parametrize("find", DECODERS)
def test_each_zstd_decoder_streams(find: Callable[[], object]) -> None:
    decode = find()
    if decode is None:
        pytest.skip("this machine does not have it")
    packed = _zstd(TEXT) + _zstd(b"the end\n")
    assert callable(decode)
    pieces = [packed[at : at + 1000] for at in range(0, len(packed), 1000)]
    given_out = list(decode(iter(pieces), 4096))
    assert b"".join(given_out) == TEXT + b"the end\n"
    assert max(map(len, given_out)) <= 4096


def test_control_sequences_are_taken_out_and_said() -> None:
    coloured = b"\x1b[01m\x1b[Ka.cu:1:\x1b[m \x1b[31mfatal error\x1b[0m: \x1b]0;title\x07done\n"
    data, notes = _clean(coloured)
    assert data == b"a.cu:1: fatal error: done\n"
    assert notes == ["6 terminal control sequences were removed"]


@given(st.integers(1, 60))
@settings(deadline=None)
def test_a_sequence_over_two_pieces_is_one(cut: int) -> None:
    text = b"before \x1b[38;5;196mred\x1b[0m \x1b]8;;http://127.0.0.1/\x07link\x1b]8;;\x07 after\n"
    assert _clean(text[:cut], text[cut:])[0] == b"before red link after\n"


@given(st.lists(st.sampled_from([b"\x1b", b"[", b"3", b";", b"m", b"]", b"a", b"\n", b"\x07"])))
@settings(deadline=None)
def test_no_escape_is_left(pieces: list[bytes]) -> None:
    assert b"\x1b" not in _clean(*pieces)[0]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_is_read(encoding: str) -> None:
    text = "ninja: build stopped\nKilled\n" * 50
    data, notes = _clean(text.encode(encoding))
    assert data.decode() == text
    assert "UTF-16" in notes[0]


def test_byte_order_mark_is_no_text() -> None:
    assert _clean(b"\xef\xbb\xbfKilled\n")[0] == b"Killed\n"


def test_binary_is_said() -> None:
    assert "binary" in _clean(bytes(range(256)) * 40)[1][0]


def test_message_as_list_of_bytes() -> None:
    listed = json.dumps({"MESSAGE": list(b"\x1b[31mKilled\x1b[0m"), "_PID": "7"})
    data, _ = _clean(listed.encode() + b"\n")
    assert json.loads(data)["MESSAGE"] == "Killed"


def test_empty_pieces_stay() -> None:
    reader = TextReader()

    def pieces() -> Iterator[bytes]:
        yield from (b"", b"a\n", b"", b"b\n")

    assert list(reader.read(pieces())) == [b"", b"a\n", b"", b"b\n"]


@pytest.mark.parametrize(
    ("line", "text", "stream", "level"),
    [
        ("#12 345.6 Killed", "Killed", "#12", ""),
        ("#12 ERROR: process x", "ERROR: process x", "#12", ""),
        ("65.10 FAILED: a.o", "FAILED: a.o", "", ""),
        ("vllm-1  | Killed", "Killed", "vllm-1", ""),
        ("(EngineCore_DP0 pid=77) ERROR 03-01 10:00:00 [core.py:866] Killed", "Killed",
         "EngineCore_DP0 pid=77", "error"),
        ("(Worker_TP0 pid=5) Killed", "Killed", "Worker_TP0 pid=5", ""),
        ("(RayWorkerWrapper pid=5, ip=10.0.0.2) Killed", "Killed",
         "RayWorkerWrapper pid=5, ip=10.0.0.2", ""),
        ("INFO 03-01 10:00:00 engine.py:88] Killed", "Killed", "", "info"),
        ("[rank3]: Killed", "Killed", "rank3", ""),
        ("W0607 18:49:09.161000 1 torch/x.py:630] Killed", "Killed", "", "warning"),
        ("[2026-06-07 18:49:51] Killed", "Killed", "", ""),
        ("2026-11-29T10:00:00.1234567Z stderr F Killed", "Killed", "", ""),
        ("2026-11-29T10:00:00.1234567Z ##[error]Killed", "Killed", "", "error"),
        ("Nov 29 10:00:00 node7 vllm[123]: Killed", "Killed", "", ""),
        ("h:1:9 [0] NCCL INFO Plugin: no libx.so", "Plugin: no libx.so", "", "info"),
        ("h:1:9 [0] NCCL WARN x", "h:1:9 [0] NCCL WARN x", "", ""),
        ("[   18.043576] NVRM: Xid", "NVRM: Xid", "", ""),
        ("[Mon Mar 02 09:10:11 2026] NVRM: Xid", "NVRM: Xid", "", ""),
        ("[Mar 04 2026 08:15:30] [ERROR] [tid 12] Killed", "Killed", "", "error"),
        ("[pod/vllm-0/server] Killed", "Killed", "pod/vllm-0/server", ""),
        ("  \u00d7 Failed to build", "Failed to build", "", ""),
        ("  \u2570\u2500\u25b6 Because", "Because", "", ""),
        ('{"log":"Killed\\n","stream":"stderr","time":"2026"}', "Killed", "", ""),
        ('{"MESSAGE":"(Worker pid=1) Killed","_PID":"1"}', "Killed", "Worker pid=1", ""),
        ('{"half": ', '{"half":', "", ""),
    ],
)  # fmt: skip
def test_prefixes_are_taken_off(line: str, text: str, stream: str, level: str) -> None:
    found = strip(line)
    assert (found.text, found.stream, found.level) == (text, stream, level)


@given(st.text(max_size=200))
@settings(deadline=None)
def test_stripping_only_takes_from_the_front(line: str) -> None:
    found = strip(line)
    assert line.startswith("{") or line.rstrip().endswith(found.text)


def test_chunks_are_bounded() -> None:
    notes: list[str] = []
    sizes = [len(each) for each in opening.chunks(io.BytesIO(gzip.compress(bytes(9 << 20))), notes)]
    assert sum(sizes) == 9 << 20
    assert max(sizes) <= opening.CHUNK
    assert all(first or second for first, second in pairwise([*sizes, 1]))
