"""Layers: digests, random access into compressed ones, and what they make together."""

from __future__ import annotations

import gzip
import random
import tempfile
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.doctor.binary.builders import Entry as Device
from tests.doctor.binary.builders import kernels, library
from tests.doctor.images.builders import Image, Link, digest, layer

from dsv4_doctor.binary.source import BinaryError, Memory
from dsv4_doctor.images import layer as reading
from dsv4_doctor.images import packed
from dsv4_doctor.images.filesystem import union
from dsv4_doctor.images.layer import Layer, read_layer
from dsv4_doctor.images.packed import GzipSource

CODE = library(kernels("sm_90a", "f"), Device("sm_90", kind=1))


def nothing(name: str) -> bool:
    return name.endswith("RECORD")


def read(data: bytes) -> Layer:
    return read_layer(Memory("blob", data), "blob", nothing)


@pytest.mark.parametrize("compression", ["none", "gzip", "zstd"])
def test_code_and_texts_can_be_read_and_nothing_else(compression: str) -> None:
    data = layer(
        {
            "v/_C.so": CODE,
            "v/host.so": b"\x7fELF" + bytes(14) + b"\x3e\0" + b"host code",
            "v/notes.txt": CODE,
            "v/RECORD": b"a text",
            "v/k.cubin": b"\x7fELF" + bytes(60),
        }
    )
    stored, _ = Image([], compression=compression).packed(data)
    found = read(stored)
    assert (found.digest, found.diff_id) == (digest(stored), digest(data))
    assert (found.size, found.unpacked) == (len(stored), len(data))
    entries = {each.member.name: each for each in found.entries}
    assert [name for name, each in entries.items() if each.code] == ["v/_C.so", "v/k.cubin"]
    for name, expected in (("v/_C.so", CODE), ("v/RECORD", b"a text")):
        content = entries[name].content
        assert content is not None
        assert content.read(0, content.size) == expected
    assert entries["v/host.so"].machine == 62
    assert entries["v/host.so"].content is None
    assert entries["v/notes.txt"].content is None


@given(st.integers(0, 2**32), st.integers(1, 3))
@settings(max_examples=25)
def test_any_part_of_a_gzip_file_can_be_read(seed: int, members: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed, "_BLOCK", 1000)
        patch.setattr(packed, "_MAX_STATES", 4)
        patch.setattr(packed, "_PIECE", 64)
        chance = random.Random(seed)
        data = b"".join(chance.randbytes(40) * chance.randrange(9) for _ in range(200))
        cuts = sorted(chance.randrange(len(data) + 1) for _ in range(members - 1))
        parts = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
        source = GzipSource(Memory("x", b"".join(map(gzip.compress, parts))), "x")
        assert b"".join(source.blocks()) == data
        assert source.size == len(data)
        for _ in range(20):
            start = chance.randrange(len(data) + 1)
            size = chance.randrange(len(data) - start + 1)
            assert source.read(start, size) == data[start : start + size]


WHOLE = gzip.compress(layer({"a.so": CODE}), mtime=0)


@given(st.binary(max_size=300), st.integers(0, len(WHOLE) - 1))
def test_gzip_data_that_is_damaged(noise: bytes, end: int) -> None:
    for data in (b"\x1f\x8b\xff" + noise, WHOLE[:end] + b"\1", WHOLE[: min(end, 20)] + noise):
        if data.startswith(packed.GZIP):
            with pytest.raises(BinaryError, match=r"^blob"):
                read(data)


def test_zstd_data_that_is_cut_short() -> None:
    stored, _ = Image([], compression="zstd").packed(layer({"a.so": CODE}))
    with pytest.raises(BinaryError, match="cut short"):
        read(stored[:-10])


def test_a_layer_of_terabytes_is_refused_in_small_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_SIZE", 32 << 20)
    header = layer({"zeros.so": b""})[:512]
    size = 100 << 20
    patched = bytearray(header)
    patched[124:136] = b"%011o\0" % size
    patched[148:156] = b" " * 8
    patched[148:156] = b"%06o\0 " % sum(patched)
    bomb = gzip.compress(bytes(patched) + bytes(size))
    tracemalloc.start()
    with pytest.raises(BinaryError, match="in a layer"):
        read(bomb)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 32 << 20


def test_a_layer_of_countless_members_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_MEMBERS", 3)
    with pytest.raises(BinaryError, match="more than 3 members"):
        read(layer({str(number): b"" for number in range(5)}))


def names(*layers: bytes) -> dict[str, int]:
    tree = union(read(each) for each in layers)
    return {name: each.member.size for name, each in tree.items()}


def test_whiteouts_take_away_what_lower_layers_have() -> None:
    lower = layer({"d": None, "d/a": b"1", "d/b": b"1", "e/x/y": b"1", "f": b"1", "g/h": b"1"})
    upper = layer({"d/.wh.a": b"", "e/.wh..wh..opq": b"", "e/new": b"22", "g": b"file"})
    assert names(lower, upper) == {"d": 0, "d/b": 1, "f": 1, "e/new": 2, "g": 4}


def test_a_whiteout_does_not_touch_its_own_layer() -> None:
    assert names(layer({"a/b": b"old"}), layer({"a/b": b"new!", "a/.wh..wh..opq": b""})) == {
        "a/b": 4
    }


def test_a_hard_link_is_what_it_leads_to() -> None:
    tree = union([read(layer({"a.so": CODE, "b.so": Link("./a.so", hard=True)}))])
    assert tree["b.so"].content is tree["a.so"].content
    assert tree["b.so"].code


# A model of what union does: paths that are there, layer upon layer, told one by one.
NAMES = st.sampled_from(["a", "b", "a/b", "a/c", "b/a", "a/b/c"])
ACTIONS = st.lists(
    st.tuples(st.sampled_from(["write", "remove", "empty"]), NAMES),
    max_size=3,
    unique_by=lambda a: a[1],
)


@given(st.lists(ACTIONS, max_size=3))
def test_layers_make_what_a_file_system_would_have(steps: list[list[tuple[str, str]]]) -> None:
    layers = []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for actions in steps:
            files: dict[str, bytes | Link | None] = {}
            # Removals first, as the specification has it, whatever their place in the tar.
            for action, name in sorted(actions, key=lambda each: each[0]):
                path = root / name
                if action == "remove":
                    files[f"{Path(name).parent}/.wh.{Path(name).name}"] = b""
                    _remove(path)
                elif action == "empty":
                    files[f"{name}/.wh..wh..opq"] = b""
                    for each in list(path.iterdir()) if path.is_dir() else []:
                        _remove(each)
            for action, name in actions:
                path = root / name
                if action == "write" and not path.is_dir() and _free(root, path):
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(b"x")
                    files[name] = b"x"
            layers.append(layer(files))
        expected = {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()}
    assert set(names(*layers)) == expected


def _remove(path: Path) -> None:
    if path.is_dir():
        for each in list(path.iterdir()):
            _remove(each)
        path.rmdir()
    elif path.exists():
        path.unlink()


def _free(root: Path, path: Path) -> bool:
    return not any(each.is_file() for each in path.parents if each != root)
