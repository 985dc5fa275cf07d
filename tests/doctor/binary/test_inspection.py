"""Whole inspections: real objects, wheels and directories, early exit, and what cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.doctor.binary.builders import (
    FIXTURES,
    PTX,
    ZSTD,
    Entry,
    Part,
    Wheel,
    ar,
    container,
    cubin,
    elf,
    kernels,
    library,
    zstd_bomb,
    zstd_frame,
)

from dsv4_doctor.arch import Arch
from dsv4_doctor.binary import payload, zstd
from dsv4_doctor.binary.contents import Inspection, SharedObject
from dsv4_doctor.binary.fatbin import Image
from dsv4_doctor.binary.inspection import Options, inspect_path
from dsv4_doctor.binary.requirements import decide, parse_requirements
from dsv4_doctor.binary.source import BinaryError, Source
from dsv4_doctor.errors import InputError

PAGED = ("_ZN4vllm25paged_attention_v2_kernelIfE", "_ZN4vllm32paged_attention_v2_reduce_kernelIfE")
FA3 = "_ZN7cutlass13device_kernelIN5flash16FlashAttnFwdSm90ILi64EEEE"


@pytest.fixture
def read_archs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Architectures of the cubins whose kernels were read, in order."""
    seen: list[str] = []

    def record(source: Source, image: Image) -> list[tuple[str, int]]:
        seen.append(image.arch.sm)
        return payload.read_kernels(source, image)

    monkeypatch.setattr("dsv4_doctor.binary.reading.read_kernels", record)
    return seen


def only(path: Path, *, kernels: bool = False) -> SharedObject:
    (found,) = inspect_path(path, Options(kernels=kernels)).objects
    return found


def proved(found: Inspection) -> set[tuple[str, str, str]]:
    return {(each.name, got.family, got.arch) for each in found.objects for got in each.families}


REAL = {
    "none.so": (("sm_80", "sm_90a", "sm_120f"), ("compute_80", "compute_120f")),
    "zstd.o": (("sm_80", "sm_90a"), ("compute_80",)),
    "lz4.o": (("sm_80", "sm_90a"), ("compute_80",)),
    "relocatable.o": (("sm_80", "sm_90a"), ("compute_80",)),
    "linked.so": (("sm_80", "sm_90a"), ()),
    "wrong_arch.o": (("sm_90",), ()),
}


@pytest.mark.parametrize(("name", "archs"), REAL.items(), ids=REAL.keys())
def test_architectures_of_real_objects(
    name: str, archs: tuple[tuple[str, ...], tuple[str, ...]]
) -> None:
    found = only(FIXTURES / name)
    assert (found.sass, found.ptx) == archs
    assert (found.kernels, found.families, found.error) == (None, (), None)


@pytest.mark.parametrize("name", ["none.so", "lz4.o", "relocatable.o"])
def test_kernels_of_real_objects_even_stripped(name: str) -> None:
    found = inspect_path(FIXTURES / name, Options(kernels=True))
    families = {(family, arch) for _, family, arch in proved(found)}
    assert {("fa3", "sm_90a"), ("paged-v2", "sm_80"), ("paged-v2", "sm_90a")} <= families
    assert ("fa3", "sm_80") not in families
    assert found.objects[0].kernels is not None
    assert found.objects[0].kernels % 4 == 0
    assert found.complete


def test_kernels_behind_zstd() -> None:
    if zstd.decoder() is None:
        pytest.skip("no zstd decoder here")
    found = inspect_path(FIXTURES / "zstd.o", Options(kernels=True))
    assert {("fa3", "sm_90a"), ("paged-v2", "sm_80")} <= {pair[1:] for pair in proved(found)}


def test_fa3_for_the_wrong_architecture_is_not_fa3() -> None:
    found = inspect_path(FIXTURES / "wrong_arch.o", Options(kernels=True))
    assert {family for _, family, _ in proved(found)} == {"cutlass"}


def test_relocatable_images_beside_linked_ones_are_leftovers() -> None:
    # The device linker has dropped the kernels that nothing launches, and the PTX.
    linked = inspect_path(FIXTURES / "linked.so", Options(kernels=True))
    assert {family for _, family, _ in proved(linked)} == {"fa3", "cutlass"}
    assert linked.objects[0].leftover == 3
    assert only(FIXTURES / "relocatable.o").leftover == 0


def test_images_that_are_alike_are_listed_together(tmp_path: Path) -> None:
    path = tmp_path / "lib.so"
    same = Entry("sm_90a", payload=b"x" * 16)
    path.write_bytes(library(same, same, Entry("sm_90", kind=PTX, isa=(8, 4))))
    cubins, ptx = only(path).images
    assert (cubins.kind, cubins.arch, cubins.count, cubins.stored) == ("cubin", "sm_90a", 2, 32)
    assert (ptx.kind, ptx.arch, ptx.isa, ptx.compression) == ("ptx", "compute_90", "8.4", "none")


def test_wheel_directory_and_static_library_give_the_same(tmp_path: Path) -> None:
    members = {"pkg/_C.so": library(kernels("sm_90", *PAGED)), "pkg/plain.so": elf()}
    (tmp_path / "x.whl").write_bytes(Wheel(members=members).data())
    for name, data in members.items():
        (tmp_path / "unpacked" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "unpacked" / name).write_bytes(data)
    from_wheel = inspect_path(tmp_path / "x.whl", Options(kernels=True))
    from_disk = inspect_path(tmp_path / "unpacked", Options(kernels=True))
    assert from_wheel.objects == from_disk.objects
    assert [each.name for each in from_disk.objects] == list(members)
    (tmp_path / "lib.a").write_bytes(ar(("_C.o", members["pkg/_C.so"])))
    (member,) = inspect_path(tmp_path / "lib.a", Options(kernels=True)).objects
    assert member.name == f"{tmp_path / 'lib.a'}(_C.o)"
    assert member.families == from_disk.objects[0].families


def test_reading_stops_at_the_first_proof(tmp_path: Path, read_archs: list[str]) -> None:
    members = {
        "a/aaa.so": library(kernels("sm_90a", FA3, *PAGED)),
        "a/_C.so": library(*[kernels("sm_80", *PAGED)] * 3, kernels("sm_90", *PAGED)),
        "a/_vllm_fa3_C.abi3.so": library(kernels("sm_80", FA3), *[kernels("sm_90a", FA3)] * 3),
    }
    (tmp_path / "x.whl").write_bytes(Wheel(members=members).data())
    found = inspect_path(
        tmp_path / "x.whl", Options(prove=("fa3", "paged-v2"), prefer=(Arch(90, "a"),))
    )
    assert proved(found) == {
        ("a/_C.so", "paged-v2", "sm_90"),
        ("a/_vllm_fa3_C.abi3.so", "fa3", "sm_90a"),
    }
    assert sorted(read_archs) == ["sm_90", "sm_90a"]
    assert not found.complete
    assert set(found.searched) == {"fa3", "paged-v2"}
    assert all(each.sass for each in found.objects)


def test_usual_place_is_only_where_the_search_starts(tmp_path: Path, read_archs: list[str]) -> None:
    (tmp_path / "_vllm_fa3_C.so").write_bytes(library(kernels("sm_90a", "other_kernel")))
    (tmp_path / "renamed.so").write_bytes(library(kernels("sm_80", FA3), kernels("sm_90a", FA3)))
    assert proved(inspect_path(tmp_path, Options(prove=("fa3",)))) == {
        ("renamed.so", "fa3", "sm_90a")
    }
    assert read_archs == ["sm_90a", "sm_90a"]


def test_reading_ends_after_the_first_cubins(tmp_path: Path, read_archs: list[str]) -> None:
    path = tmp_path / "lib.so"
    path.write_bytes(library(*[kernels("sm_90a", "other_kernel")] * 3, kernels("sm_90a", FA3)))
    fa3 = parse_requirements(["fa3"])
    bounded = inspect_path(path, Options(prove=("fa3",), most=3))
    assert (len(read_archs), proved(bounded)) == (3, set())
    (unread,) = bounded.objects[0].unread
    assert (unread.arch, unread.count) == ("sm_90a", 1)
    # What was not read is no proof that nothing is there.
    assert [each.status for each in decide(bounded, fa3)] == ["unknown"]
    enough = inspect_path(path, Options(prove=("fa3",), most=4))
    assert [each.status for each in decide(enough, fa3)] == ["present"]
    assert enough.objects[0].unread == ()


def test_headers_alone_read_no_payload(read_archs: list[str]) -> None:
    inspect_path(FIXTURES)
    assert read_archs == []


def test_without_a_decoder_the_cubins_are_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zstd, "decoder", lambda: None)
    found = only(FIXTURES / "zstd.o", kernels=True)
    assert (found.families, found.kernels, found.error) == ((), None, None)
    assert [(each.arch, each.count) for each in found.unread] == [("sm_80", 1), ("sm_90a", 1)]
    assert all("no zstd decoder" in each.reason for each in found.unread)


def test_image_over_the_limit_is_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payload, "LIMIT", 1 << 20)
    path = tmp_path / "lib.so"
    bomb = zstd_bomb(1 << 21)
    entry = Entry(payload=bomb, flags=ZSTD, compressed=len(bomb), size=1 << 21)
    path.write_bytes(library(entry, kernels("sm_80", "kernel")))
    (unread,) = only(path, kernels=True).unread
    assert (unread.arch, unread.count) == ("sm_80", 1)
    assert "larger than 1 MiB" in unread.reason


DAMAGED = {
    "no ELF": b"garbage " * 4,
    "not for a GPU": cubin("kernel", machine=62),
    "truncated": cubin("kernel")[:-64],
}


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED.keys())
def test_damaged_cubin_is_unread_with_its_place(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "lib.so"
    path.write_bytes(library(Entry(payload=data), Entry(payload=data), kernels("sm_80", *PAGED)))
    found = only(path, kernels=True)
    (unread,) = found.unread
    assert unread.count == 2
    assert unread.reason.startswith(str(path))
    assert "at offset" in unread.reason
    assert [each.family for each in found.families] == ["paged-v2"]


def test_header_that_lies_about_the_decompressed_size(tmp_path: Path) -> None:
    if zstd.decoder() is None:
        pytest.skip("no zstd decoder here")
    frame = zstd_frame(cubin("kernel"))
    for size in (0, 10, 1 << 20):
        entry = Entry(payload=frame, flags=ZSTD, compressed=len(frame), size=size)
        (tmp_path / "lib.so").write_bytes(library(entry))
        (unread,) = only(tmp_path / "lib.so", kernels=True).unread
        assert "damaged zstd data in an image for sm_80" in unread.reason


def test_single_object_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    whole = (FIXTURES / "lz4.o").read_bytes()
    path = tmp_path / "cut.so"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BinaryError, match=f"^{path}: truncated"):
        inspect_path(path)
    with pytest.raises(InputError, match="No such file"):
        inspect_path(tmp_path / "gone.whl")


def test_object_in_a_wheel_that_cannot_be_read_does_not_hide_the_others(tmp_path: Path) -> None:
    members = {"a.so": library(Entry("sm_90"))[:-100], "b.so": library(Entry("sm_80"))}
    (tmp_path / "x.whl").write_bytes(Wheel(members=members).data())
    broken, good = inspect_path(tmp_path / "x.whl").objects
    assert broken.error is not None
    assert broken.error.startswith(f"{tmp_path / 'x.whl'}: a.so: truncated")
    assert (good.error, good.sass) == (None, ("sm_80",))


def test_device_code_that_was_split_off(tmp_path: Path) -> None:
    path = tmp_path / "lib.so.debug"
    path.write_bytes(elf(Part(".nv_fatbin", b"", kind=8, size=1 << 20)))
    with pytest.raises(BinaryError, match="debug symbols"):
        inspect_path(path)


def test_several_sections_and_none(tmp_path: Path) -> None:
    path = tmp_path / "lib.so"
    path.write_bytes(
        elf(
            Part(".nv_fatbin", container(Entry("sm_80"))),
            Part("__nv_relfatbin", container(Entry("sm_90"))),
            Part(".nv_fatbin", container(Entry("sm_86"))),
        )
    )
    assert (only(path).sass, only(path).ptx) == (("sm_80", "sm_86"), ())
    path.write_bytes(elf(Part(".text", b"code")))
    assert (only(path).sass, only(path).ptx) == ((), ())


def test_wheel_without_any_object(tmp_path: Path) -> None:
    (tmp_path / "pure.whl").write_bytes(Wheel(members={"a.py": b"x = 1"}).data())
    assert inspect_path(tmp_path / "pure.whl", Options(kernels=True)).objects == ()


def test_json_is_plain_data() -> None:
    document = inspect_path(FIXTURES / "none.so", Options(prove=("fa3",))).to_json()
    assert document["schema"] == "dsv4-doctor/inspection/1"
    assert document["objects"][0]["families"][0]["arch"] == "sm_90a"
