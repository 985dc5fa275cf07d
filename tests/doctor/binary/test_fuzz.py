"""Damage of every kind: one documented error, or a result; nothing else, and no large memory."""

from __future__ import annotations

import json
import struct
import tempfile
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.doctor.binary.builders import (
    FIXTURES,
    Entry,
    Part,
    Wheel,
    ar,
    container,
    elf,
    kernels,
    library,
)
from tests.doctor.binary.linking import Want, shared

from dsv4_doctor.arch import Arch
from dsv4_doctor.binary import inflate
from dsv4_doctor.binary.contents import Inspection
from dsv4_doctor.binary.difference import compare
from dsv4_doctor.binary.inspection import Options, inspect_path
from dsv4_doctor.binary.requirements import decide, parse_requirements
from dsv4_doctor.errors import InputError

PAGED = ("_ZN4vllm25paged_attention_v2_kernelIfE", "_ZN4vllm32paged_attention_v2_reduce_kernelIfE")
SMALL = library(kernels("sm_80", *PAGED), Entry("sm_90", kind=1), kernels("sm_90a", "kernel"))

LINKED = shared(
    Want("memcpy", "libc.so.6", "GLIBC_2.14"),
    Want("_ZNSt6vectorE", "libstdc++.so.6", "GLIBCXX_3.4.21"),
    "_ZN3c105ErrorE",
    "PyList_New",
    needed=("libc10.so", "libcudart.so.12"),
    defined=("PyInit_x",),
    runpath="$ORIGIN/../lib",
)
WHEEL = {
    "v/_C.so": LINKED,
    "x-1.dist-info/METADATA": b"Name: x\nVersion: 1\nRequires-Dist: torch==2.11\n\ntext",
    "x-1.dist-info/WHEEL": b"Wheel-Version: 1.0\nTag: cp38-abi3-manylinux_2_17_x86_64\n",
}
GPU_OBJECT = elf(
    Part(".strtab", b"\0kernel\0", kind=3),
    Part(".symtab", b"\0" * 24 + struct.pack("<IBBHQQ", 1, 18, 16, 1, 0, 64), kind=2, link=1),
    Part(".nv.compat", b"\x02\x09\x01\x00"),
    kind=2,
    machine=190,
    flags=0x6005A04,
    abi=8,
)
LINES = b"\x2f\0\0\0\2\0\x1f\0\0\0\1\1\xfb\x0e\x0a" + b"\1" * 9 + b"/s\0\0k.cu\0\1\x80\1\5\0code"

SEEDS = {
    "lz4.o": (FIXTURES / "lz4.o").read_bytes(),
    "zstd.o": (FIXTURES / "zstd.o").read_bytes(),
    "linked.so": (FIXTURES / "linked.so").read_bytes(),
    "small.so": SMALL,
    "shared.so": LINKED,
    "lines.o": elf(Part(".text", b"code"), Part(".debug_line", LINES), kind=1),
    "gpu.cubin": GPU_OBJECT,
    "device.fatbin": container(kernels("sm_80", *PAGED), Entry("sm_90", kind=1)),
    "small.a": ar(("one.o", SMALL), ("a_long_name_of_a_member.o", SMALL)),
    "metadata.whl": Wheel(members=WHEEL).data(),
    "deflated.whl": Wheel(members={"v/_C.so": SMALL, "v/b.so": SMALL}).data(),
    "stored.whl": Wheel(zipfile.ZIP_STORED, {"v/_C.so": SMALL, "v/b.so": SMALL}).data(),
}


@pytest.fixture(autouse=True, scope="module")
def small_blocks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inflate, "_BLOCK", 256)
        yield


def outcome(data: bytes, read: Callable[[Path], Inspection]) -> Inspection | InputError:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "input")
        path.write_bytes(data)
        try:
            result: Inspection | InputError = read(path)
        except InputError as error:
            result = error
        assert isinstance(result, Inspection) or str(result).startswith(str(path))
        return result


def everything(path: Path) -> Inspection:
    return inspect_path(path, Options(kernels=True))


def first_proof(path: Path) -> Inspection:
    return inspect_path(path, Options(prove=("fa3", "paged-v2")))


def headers(path: Path) -> Inspection:
    return inspect_path(path)


def linkage(path: Path) -> Inspection:
    found = inspect_path(path, Options(linkage=True, gpus=(Arch(90),)))
    decide(found, parse_requirements(["torch==2.11", "glibc<=2.28", "cuda==12"]))
    return found


READS = {
    "headers": headers,
    "everything": everything,
    "first proof": first_proof,
    "linkage": linkage,
}


@st.composite
def mutated(draw: st.DrawFn, seed: bytes) -> bytes:
    """A real file with a few bytes changed, runs overwritten, and perhaps an end cut off."""
    data = bytearray(seed)
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(data) - 1))
        run = draw(st.one_of(st.binary(min_size=1, max_size=8), st.just(b"\xff" * 8)))
        data[at : at + len(run)] = run
    return bytes(data[: draw(st.one_of(st.just(len(data)), st.integers(0, len(data))))])


@pytest.mark.parametrize("read", READS.values(), ids=READS.keys())
@pytest.mark.parametrize("seed", SEEDS.values(), ids=SEEDS.keys())
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_mutations(seed: bytes, read: Callable[[Path], Inspection], data: st.DataObject) -> None:
    outcome(data.draw(mutated(seed)), read)


@pytest.mark.parametrize("seed", SEEDS.values(), ids=SEEDS.keys())
def test_truncation(seed: bytes) -> None:
    step = max(1, len(seed) // 150)
    for length in range(0, len(seed), step):
        outcome(seed[:length], lambda path: inspect_path(path, Options(True, linkage=True)))


@pytest.mark.parametrize("seed", SEEDS.values(), ids=SEEDS.keys())
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_mutations_compared_with_the_whole_file(seed: bytes, data: st.DataObject) -> None:
    changed = data.draw(mutated(seed))
    with tempfile.TemporaryDirectory() as folder:
        whole, damaged = Path(folder, "whole"), Path(folder, "damaged")
        whole.write_bytes(seed)
        damaged.write_bytes(changed)
        for pair in ((whole, damaged), (damaged, whole)):
            try:
                found = compare(*pair, kernels=True)
            except InputError as error:
                assert str(damaged) in str(error)  # noqa: PT017 - either outcome will do
                continue
            assert seed != changed or not found.files
            json.dumps(found.to_json())


@pytest.mark.parametrize("mark", [b"\x7fELF\x02\x01", b"\x50\xed\x55\xba\x01\x00"])
def test_a_member_that_inflates_to_much_more_takes_no_more_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: bytes
) -> None:
    monkeypatch.setattr(inflate, "_BLOCK", 1 << 20)
    size = 64 << 20
    bomb = bytearray(size)
    whole = library(kernels("sm_80", "f"))
    bomb[: len(whole)] = whole if mark.startswith(b"\x7f") else mark
    # The section table stands at the far end, so that reading it runs through everything.
    bomb[40:48] = (size - 64).to_bytes(8, "little")
    path = tmp_path / "bomb.whl"
    path.write_bytes(Wheel(members={"a.so": bytes(bomb)}).data())
    del bomb
    assert path.stat().st_size < size // 100
    tracemalloc.start()
    (found,) = inspect_path(path, Options(kernels=True, linkage=True)).objects
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.error is not None
    assert "at offset 0x" in found.error
    assert peak < 16 << 20


def test_a_zip_that_claims_more_than_any_wheel_has(tmp_path: Path) -> None:
    data = bytearray(Wheel(members={f"{name}.so": SMALL for name in "abcdefghijklmnopqrst"}).data())
    at = data.find(b"PK\1\2")
    while at >= 0:
        data[at + 24 : at + 28] = b"\xfe\xff\xff\xff"
        at = data.find(b"PK\1\2", at + 1)
    (tmp_path / "bomb.whl").write_bytes(data)
    with pytest.raises(InputError, match=r"more than 64 GiB \(at offset 0x"):
        inspect_path(tmp_path / "bomb.whl")


def test_a_file_without_a_name_in_a_zip(tmp_path: Path) -> None:
    path = tmp_path / "x.whl"
    path.write_bytes(Wheel(members={"b": b"1", "a.so": SMALL}).data())
    named = bytearray(path.read_bytes())
    at = named.rfind(b"PK\1\2", 0, named.rfind(b"PK\1\2"))
    named[at + 28 : at + 30] = b"\0\0"
    named[at + 46 : at + 47] = b""
    named[-10:-6] = (int.from_bytes(named[-10:-6], "little") - 1).to_bytes(4, "little")
    path.write_bytes(named)
    assert compare(path, path).same == 2


@pytest.mark.parametrize("name", ["METADATA", "WHEEL"])
def test_damaged_metadata_hides_no_object(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x.whl"
    data = bytearray(Wheel(members=WHEEL).data())
    at = data.find(f"x-1.dist-info/{name}".encode()) + len("x-1.dist-info/") + len(name)
    data[at : at + 4] = b"\xff" * 4
    path.write_bytes(data)
    found = inspect_path(path, Options(linkage=True))
    assert found.objects[0].linkage is not None
    assert found.linkage is not None
    assert "what the wheel says of itself" in found.linkage.unknown[0]
    assert "at offset 0x" in found.linkage.unknown[0]


@settings(deadline=None)
@given(
    st.lists(
        st.builds(
            Entry,
            arch=st.sampled_from(["sm_80", "sm_90a", "sm_100f"]),
            kind=st.integers(0, 9),
            payload=st.binary(max_size=64),
            flags=st.sampled_from([0, 0x2000, 0x8000, 0xA000, 0x100000, 0x300000]),
            compressed=st.one_of(st.integers(0, 80), st.just(2**32 - 1)),
            size=st.one_of(st.integers(0, 200), st.just(2**64 - 1), st.just(1 << 26)),
            header=st.sampled_from([64, 72, 112]),
            stored=st.one_of(st.none(), st.integers(0, 100), st.just(2**64 - 1)),
        ),
        max_size=4,
    )
)
def test_entries_with_fields_of_every_value(entries: list[Entry]) -> None:
    outcome(library(*entries), everything)


@settings(deadline=None)
@given(st.binary(max_size=400), st.sampled_from([b"\x7fELF\x02\x01", b"PK\x03\x04", b"!<arch>\n"]))
def test_noise_behind_a_known_mark(noise: bytes, mark: bytes) -> None:
    outcome(mark + noise, everything)
