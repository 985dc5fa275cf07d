"""Why two files differ: every cause that can be established, and none where it cannot."""

from __future__ import annotations

import contextlib
import struct
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.doctor.binary.builders import (
    PTX,
    ZSTD,
    Entry,
    Part,
    Wheel,
    ar,
    container,
    elf,
    kernels,
    library,
    memory,
    zstd_frame,
)

from dsv4_doctor.binary import zstd
from dsv4_doctor.binary.causes import Cause, Explained, merge, neutral
from dsv4_doctor.binary.difference import FileDifference, compare
from dsv4_doctor.binary.file_causes import explain_file
from dsv4_doctor.binary.line_times import LineTableError, as_date, without_times
from dsv4_doctor.cli.main import run

OLD_ID, NEW_ID = "e8b62ee2", "2bb87da0"


def differing(tmp_path: Path, old: bytes, new: bytes, name: str = "_C.so") -> FileDifference:
    for folder, data in (("old", old), ("new", new)):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / name).write_bytes(data)
    (found,) = compare(tmp_path / "old", tmp_path / "new").files
    return found


def kinds(found: FileDifference) -> set[str]:
    return {each.kind for each in found.causes}


def strings(*names: str) -> bytes:
    return b"\0" + b"".join(name.encode() + b"\0" for name in names)


def with_strings(*names: str, section: str = ".strtab") -> bytes:
    return elf(Part(".text", b"code"), Part(section, strings(*names), kind=3))


def test_the_name_of_a_temporary_file(tmp_path: Path) -> None:
    one, other = (
        "tmpxft_0000775e_00000000-6_k.cudafe1.cpp",
        "tmpxft_000077a6_00000000-6_k.cudafe1.cpp",
    )
    found = differing(tmp_path, with_strings("main", one), with_strings("main", other))
    assert found.causes == (
        Cause("temporary-names", ".strtab", "tmpxft_0000775e_00000000 -> tmpxft_000077a6_00000000"),
    )
    assert found.unexplained == ()
    assert found.first is not None
    assert (found.first.section, found.first.symbol) == (".strtab", one)


def test_a_path_of_another_length_and_what_it_moves(tmp_path: Path) -> None:
    def made(root: str) -> bytes:
        text = f"{root}/csrc/a.cu\0".encode()
        data = text + b"\0" * (-len(text) % 8) + b"constant"
        relocations = struct.pack("<QQq", 8, 5, len(text))
        parts = (Part(".rodata", data), Part(".rela.text", relocations, kind=4))
        return elf(Part(".text", b"code"), *parts, kind=1)

    found = differing(tmp_path, made("/build/one"), made("/other/place/two"))
    assert found.causes == (
        Cause("paths", ".rodata", "/build/one -> /other/place/two"),
        Cause(
            "offsets", ".rela.text", "what the relocations point to has moved within its section"
        ),
    )
    assert found.unexplained == ()


def module(number: str) -> str:
    return f"_ZN36_GLOBAL__N__{number}_4_k_cu_9b93f3c16hiddenEPf"


def test_the_hash_of_a_path_in_device_code(tmp_path: Path) -> None:
    def made(number: str) -> bytes:
        ptx = Entry("sm_90", kind=PTX, payload=f".entry {module(number)}".encode())
        return library(kernels("sm_80", module(number)), ptx)

    found = differing(tmp_path, made(OLD_ID), made(NEW_ID))
    assert found.unexplained == ()
    detail = f"_GLOBAL__N__{OLD_ID} -> _GLOBAL__N__{NEW_ID}"
    assert found.causes == (
        Cause("module-ids", ".nv_fatbin sm_80 .strtab; .nv_fatbin compute_90", detail),
    )


def test_other_machine_code_is_not_explained_away(tmp_path: Path) -> None:
    def made(number: str, code: bytes) -> bytes:
        text = f"tmpxft_{number}_00000000.cpp"
        return elf(Part(".text", code), Part(".strtab", strings(text), kind=3))

    found = differing(tmp_path, made("00000001", b"code"), made("00000002", b"CODE"))
    assert kinds(found) == {"temporary-names"}
    assert found.unexplained == (".text",)
    found = differing(tmp_path, made("00000001", b"code"), made("00000001", b"longer code"))
    assert (found.causes, found.unexplained) == ((), (".text, 4 -> 11 bytes",))


def test_sections_that_only_one_has(tmp_path: Path) -> None:
    more = elf(Part(".text", b"code"), Part(".debug_info", b"x"))
    found = differing(tmp_path, elf(Part(".text", b"code")), more)
    assert ".debug_info only in the newer" in found.unexplained


def test_images_that_came_and_went(tmp_path: Path) -> None:
    found = differing(
        tmp_path, library(kernels("sm_80", "f")), library(kernels("sm_90a", "f"), Entry(kind=PTX))
    )
    assert found.causes[0] == Cause(
        "device-code", ".nv_fatbin", "1 sm_80 cubin -> 1 compute_80 PTX, 1 sm_90a cubin"
    )


def test_one_image_compressed_in_two_ways(tmp_path: Path) -> None:
    if zstd.decoder() is None:
        pytest.skip("no zstd decoder here")
    plain = kernels("sm_80", "f").payload
    frame = zstd_frame(plain)
    packed = Entry(payload=frame, flags=ZSTD, compressed=len(frame), size=len(plain))
    found = differing(tmp_path, library(Entry(payload=plain)), library(packed))
    detail = f"{len(plain)} bytes of none -> {len(frame)} bytes of zstd"
    assert found.causes == (Cause("compression", ".nv_fatbin sm_80", detail),)
    assert found.unexplained == ()


def test_an_image_that_cannot_be_read_is_not_explained(tmp_path: Path) -> None:
    found = differing(
        tmp_path, library(Entry(payload=b"garbage1")), library(Entry(payload=b"garbage2"))
    )
    assert found.causes == ()
    assert "not an ELF file" in found.unexplained[0]


@pytest.mark.parametrize(
    ("section", "old", "new", "kind"),
    [
        (".comment", b"GCC: (Debian 12.2.0-14) 12.2.0\0", b"GCC: (GNU) 13.1.0\0", "compiler"),
        (
            ".note.nv.tkinfo",
            b"Cuda compilation tools, release 13.0, V13.0.88\0-arch sm_90",
            b"Cuda compilation tools, release 13.2, V13.2.51\0-arch sm_90",
            "compiler",
        ),
        (".note.nv.tkinfo", b"ptxas\0-arch sm_90 ", b"ptxas\0-lineinfo -arch sm_90 ", "options"),
        (".note.gnu.build-id", b"\1" * 20, b"\2" * 20, "build-id"),
    ],
)
def test_what_a_section_says(
    tmp_path: Path, section: str, old: bytes, new: bytes, kind: str
) -> None:
    found = differing(tmp_path, elf(Part(section, old)), elf(Part(section, new)))
    assert kinds(found) == {kind}
    assert found.unexplained == ()


def line_table(*times: int, version: int = 2) -> bytes:
    files = b"".join(b"k.cu\0" + bytes([1, *leb(time), 9]) for time in times)
    head = (b"\1\1" if version == 4 else b"\1") + bytes([1, 0xFB, 14, 10]) + b"\1" * 9
    body = head + b"/src\0\0" + files + b"\0" + b"program"
    unit = struct.pack("<HI", version, len(body) - 7) + body
    return struct.pack("<I", len(unit)) + unit


def leb(value: int) -> list[int]:
    low = [value >> shift & 0x7F for shift in range(0, max(value.bit_length(), 1), 7)]
    return [each | 0x80 for each in low[:-1]] + low[-1:]


@settings(deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 2**40), max_size=4), min_size=1, max_size=3),
    st.integers(2, 4),
)
def test_times_of_a_line_table(units: list[list[int]], version: int) -> None:
    content = b"".join(line_table(*times, version=version) for times in units)
    rest, times = without_times(content)
    assert list(times) == [each for unit in units for each in unit]
    assert len(rest) == len(content) - sum(len(leb(each)) for each in times)


@settings(deadline=None)
@given(st.binary(max_size=80), st.integers(0, 80))
def test_any_line_table_ends_in_times_or_an_error(noise: bytes, cut: int) -> None:
    for content in (noise, line_table(1, 2)[:cut], line_table(1)[:12] + noise):
        with contextlib.suppress(LineTableError):
            without_times(content)


def test_when_a_source_was_written(tmp_path: Path) -> None:
    def made(time: int) -> bytes:
        return library(Entry("sm_90", payload=elf(Part(".debug_line", line_table(time)))))

    found = differing(tmp_path, made(1_700_000_000), made(1_700_000_060))
    detail = "a source was written 2023-11-14T22:13:20Z -> 2023-11-14T22:14:20Z"
    assert found.causes == (Cause("times", ".nv_fatbin sm_90 .debug_line", detail),)
    assert found.unexplained == ()
    assert as_date(10**30) == str(10**30)


def whole(name: str, old: bytes, new: bytes, differs: tuple[str, ...] = ()) -> list[str]:
    causes, unexplained = explain_file(name, memory(old), memory(new), differs)
    return [*(each.kind for each in causes), *unexplained]


def pyc(time: int, code: bytes = b"code", flags: int = 0) -> bytes:
    return struct.pack("<IIII", 0xA0D0D6F, flags, time, 10) + code


def test_files_that_are_no_objects() -> None:
    assert whole("a.pyc", pyc(1), pyc(2)) == ["times"]
    assert whole("a.pyc", pyc(1), pyc(1, b"edoc")) == ["the compiled module"]
    assert whole("a.pyc", pyc(1, flags=1), pyc(2, flags=1)) == ["the compiled module"]
    assert whole("a.txt", b"1\n2\n", b"2\n1\n") == ["order"]
    assert whole("a.txt", b"1\n2\n", b"1\r\n2\r\n") == ["line-endings"]
    assert whole("a.txt", b"1\n2\n", b"1\n3\n") == ["content"]
    assert whole("a.txt", b"in /a/b/c.h", b"in /d/c.h") == ["paths"]
    assert whole("a.bin", b"\0one", b"\0two") == ["the file"]
    wheel = "x-1.dist-info/WHEEL"
    assert whole(wheel, b"Generator: a (1)\nTag: t\n", b"Generator: b (2)\nTag: t\n") == [
        "generator"
    ]
    assert whole(wheel, b"Generator: a\nTag: t\n", b"Generator: a\nTag: u\n") == ["content"]


def test_a_record_follows_from_the_files_that_it_lists() -> None:
    old, new = b"a.so,sha256=1,10\nb.py,sha256=2,5\n", b"a.so,sha256=3,11\nb.py,sha256=2,5\n"
    name = "x-1.dist-info/RECORD"
    assert whole(name, old, new, ("a.so", name)) == ["record"]
    assert whole(name, old, new, ("b.py", name)) == ["content"]


def test_static_libraries() -> None:
    one, other = (
        with_strings("a/tmpxft_00000001_00000000"),
        with_strings("a/tmpxft_00000002_00000000"),
    )
    library_of = {
        name: ar(("one.o", one), ("two.o", data)) for name, data in (("x", one), ("y", other))
    }
    causes, unexplained = explain_file("l.a", memory(library_of["x"]), memory(library_of["y"]), ())
    assert [(each.kind, each.where) for each in causes] == [("temporary-names", "(two.o) .strtab")]
    assert unexplained == []
    later = library_of["x"].replace(b"0           0     ", b"1700000000  0     ", 2)
    assert whole("l.a", library_of["x"], later) == ["times"]
    assert whole("l.a", library_of["x"], ar(("two.o", one), ("one.o", one))) == [
        "the members are in another order"
    ]
    assert whole("l.a", library_of["x"], ar(("one.o", one))) == ["the members"]


def archive(path: Path, infos: list[tuple[str, int, int]], method: int, level: int = 6) -> Path:
    with zipfile.ZipFile(path, "w", method, compresslevel=level) as made:
        for name, day, mode in infos:
            info = zipfile.ZipInfo(name, (2026, 1, day, 0, 0, 0))
            info.external_attr = mode << 16
            info.compress_type = method
            made.writestr(info, bytes(range(256)) * 40, compresslevel=level)
    return path


@pytest.mark.parametrize(
    ("infos", "method", "level", "kind", "detail"),
    [
        ([("a", 2, 0o644), ("b", 1, 0o644)], 8, 6, "times", "2026-01-01T00:00:00 -> 2026-01-02"),
        ([("a", 1, 0o755), ("b", 1, 0o644)], 8, 6, "modes", "644 -> 755"),
        ([("b", 1, 0o644), ("a", 1, 0o644)], 8, 6, "order", "another order"),
        ([("a", 1, 0o644), ("b", 1, 0o644)], 0, 6, "compression", "deflated -> stored"),
        ([("a", 1, 0o644), ("b", 1, 0o644)], 8, 0, "compression", "another zlib"),
    ],
)
def test_archives(
    tmp_path: Path,
    infos: list[tuple[str, int, int]],
    method: int,
    level: int,
    kind: str,
    detail: str,
) -> None:
    plain = [("a", 1, 0o644), ("b", 1, 0o644)]
    before = archive(tmp_path / "old.whl", plain, zipfile.ZIP_DEFLATED)
    after = archive(tmp_path / "new.whl", infos, method, level)
    found = compare(before, after)
    assert (found.files, found.same) == ((), 2)
    assert [each.kind for each in found.archive] == [kind]
    assert detail in found.archive[0].detail
    assert compare(before, before).archive == ()


def test_one_cause_in_many_places_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def made(number: str) -> bytes:
        return library(
            *(kernels(f"sm_{arch}", module(number)) for arch in (75, 80, 86, 89, 90, 100))
        )

    for name, number in (("old", OLD_ID), ("new", NEW_ID)):
        (tmp_path / f"{name}.so").write_bytes(made(number))
    assert run(["inspect", "--diff", str(tmp_path / "old.so"), str(tmp_path / "new.so")]) == 1
    (line,) = [each for each in capsys.readouterr().out.splitlines() if "why:" in each]
    assert line.startswith(
        "    why: nvcc's hash of the source's path in .nv_fatbin sm_75 .strtab, "
    )
    assert " and 1 more: _GLOBAL__N__e8b62ee2 -> _GLOBAL__N__2bb87da0" in line


def test_what_is_not_established_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = {name: {"_C.so": container(Entry(payload=name.encode() * 4))} for name in ("ab", "cd")}
    for name, members in data.items():
        (tmp_path / f"{name}.whl").write_bytes(Wheel(members=members).data())
    assert run(["inspect", "--diff", str(tmp_path / "ab.whl"), str(tmp_path / "cd.whl")]) == 1
    assert "    why: not established for the file" in capsys.readouterr().out


def test_names_that_changed_places_explain_nothing() -> None:
    one, other = (
        b"_INTERNAL_00000001_f \1 _INTERNAL_00000002_f",
        b"_INTERNAL_00000002_f \1 _INTERNAL_00000001_f",
    )
    found = Explained()
    assert not found.part(one, other, ".rodata")
    assert found.unexplained == [".rodata"]


def test_strings_in_another_order(tmp_path: Path) -> None:
    found = differing(tmp_path, with_strings("one", "two"), with_strings("two", "one"))
    assert [(each.kind, each.where) for each in found.causes] == [("order", ".strtab")]
    assert found.unexplained == ()
    found = differing(
        tmp_path, with_strings("1", "2", section=".data"), with_strings("2", "1", section=".data")
    )
    assert kinds(found) == {"order"}


def test_fat_binaries_with_the_same_images(tmp_path: Path) -> None:
    one, other = kernels("sm_80", "f"), Entry("sm_90", kind=PTX)
    found = differing(tmp_path, library(one, other), library(other, one))
    assert found.unexplained == (".nv_fatbin: the same images in another order",)
    images = container(one)
    apart = elf(Part(".nv_fatbin", images + b"\0" * 16 + images))
    close = elf(Part(".nv_fatbin", images + images + b"\0" * 16))
    assert differing(tmp_path, apart, close).unexplained == (".nv_fatbin: between the images",)


@settings(deadline=None)
@given(st.binary(max_size=200), st.binary(max_size=200))
def test_other_bytes_are_never_explained(one: bytes, other: bytes) -> None:
    found = Explained()
    if found.part(one, other, "x"):
        assert found.causes or one == other
    assert neutral(neutral(one)) == neutral(one)
    assert merge(found.causes) == merge(merge(found.causes))
