"""Damage of every kind: one documented error, or a result; nothing else, and no large memory."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.doctor.binary.builders import FIXTURES, Entry, Wheel, ar, kernels, library

from dsv4_doctor.binary import inflate
from dsv4_doctor.binary.contents import Inspection
from dsv4_doctor.binary.inspection import Options, inspect_path
from dsv4_doctor.errors import InputError

PAGED = ("_ZN4vllm25paged_attention_v2_kernelIfE", "_ZN4vllm32paged_attention_v2_reduce_kernelIfE")
SMALL = library(kernels("sm_80", *PAGED), Entry("sm_90", kind=1), kernels("sm_90a", "kernel"))

SEEDS = {
    "lz4.o": (FIXTURES / "lz4.o").read_bytes(),
    "zstd.o": (FIXTURES / "zstd.o").read_bytes(),
    "linked.so": (FIXTURES / "linked.so").read_bytes(),
    "small.so": SMALL,
    "small.a": ar(("one.o", SMALL), ("two.o", SMALL)),
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


READS = {"headers": headers, "everything": everything, "first proof": first_proof}


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
        outcome(seed[:length], everything)


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
