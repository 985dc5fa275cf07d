"""What of an object runs on a GPU."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.binary.builders import PTX, Entry, Part, container, elf

from dsv4_doctor.arch import Arch
from dsv4_doctor.binary.compatibility import ptx_runs_on, sass_runs_on
from dsv4_doctor.binary.fatbin import Image, Kind
from dsv4_doctor.binary.verdicts import Driver, judge, name_of, parse_driver, parse_gpus
from dsv4_doctor.cli.main import run
from dsv4_doctor.errors import UsageError
from dsv4_doctor.knowledge.gpu_archs import gpu_archs


def image(container: int, arch: str, kind: Kind = "cubin", isa: str | None = None) -> Image:
    isa = isa or ("9.0" if kind == "ptx" else None)
    return Image(kind, Arch.parse(arch), isa, "none", 0, 0, 0, 0, container)


HOPPER = Arch(90)


def test_each_fat_binary_counts_for_itself() -> None:
    images = [
        *(image(0, "sm_80"), image(0, "sm_90a")),
        *(image(1, "sm_80"), image(1, "compute_80", "ptx")),
        *(image(2, "sm_80"), image(2, "sm_120f")),
    ]
    found = judge(images, HOPPER)
    assert (found.runs, found.sass, found.ptx, found.none) == ("some", 1, 1, 1)
    assert found.archs == ("sm_90a", "compute_80")
    assert found.reason == (
        "1 of 3 fat binaries as machine code (sm_90a); "
        "1 of 3 compiled by the driver from PTX (compute_80), if it knows PTX ISA 9.0 "
        "(CUDA 13.0 and newer); "
        "1 of 3 not at all: sm_80 runs on 8.x from 8.0 up; "
        "sm_120f runs in the family of 12.0, from it up"
    )


def test_machine_code_is_taken_before_ptx() -> None:
    found = judge([image(0, "sm_90"), image(0, "compute_80", "ptx")], HOPPER)
    assert (found.runs, found.sass, found.ptx) == ("all", 1, 0)


@pytest.mark.parametrize(
    ("cuda", "runs"), [("12.8", "none"), ("12.9", "none"), ("13.0", "all"), ("13.5", "all")]
)
def test_driver_decides_the_ptx(cuda: str, runs: str) -> None:
    found = judge([image(0, "compute_80", "ptx")], HOPPER, parse_driver(cuda))
    assert found.runs == runs
    if runs == "none":
        assert "a driver of CUDA 12" in found.reason
        assert "ISA 9.0 (CUDA 13.0 and newer)" in found.reason
    else:
        assert f"a driver of CUDA {cuda} knows" in found.reason


def test_neither_machine_code_nor_ptx() -> None:
    found = judge([image(0, "sm_90", "lto")], HOPPER)
    assert found.runs == "none"
    assert found.reason == "1 of 1 not at all: neither machine code nor PTX in it"


def test_gpus_and_drivers_as_written() -> None:
    assert parse_gpus(["sm_90", "9.0", "90a", "12.1"]) == (Arch(90), Arch(121))
    assert parse_driver(None) is None
    assert parse_driver("12.8") == Driver("12.8", "8.7")
    for wrong in ("hopper", "sm_42", "9.9"):
        with pytest.raises(UsageError, match=r"known compute capabilities: 5\.0"):
            parse_gpus([wrong])
    with pytest.raises(UsageError, match=r"known: 11\.8"):
        parse_driver("9.2")
    assert name_of("sm_90") == "9.0 (H100, H200, GH200)"


ARCHS = st.sampled_from(sorted(gpu_archs())).flatmap(
    lambda arch: st.sampled_from(["", "a", "f"]).map(lambda suffix: Arch(arch.number, suffix))
)
CODES = st.lists(st.tuples(st.integers(0, 3), ARCHS, st.sampled_from(["cubin", "ptx"])), min_size=1)


@given(CODES, st.sampled_from(sorted(gpu_archs())))
def test_the_numbers_agree_with_the_rules(codes: list[tuple[int, Arch, Kind]], gpu: Arch) -> None:
    images = [image(where, arch.sm, kind) for where, arch, kind in codes]
    found = judge(images, gpu)
    places = {where for where, _, _ in codes}
    native = {at for at, arch, kind in codes if kind == "cubin" and sass_runs_on(gpu, arch)}
    portable = {at for at, arch, kind in codes if kind == "ptx" and ptx_runs_on(gpu, arch)}
    assert found.sass == len(native)
    assert found.ptx == len(portable - native)
    assert found.none == len(places - portable - native)
    assert (found.runs == "all") is (found.none == 0)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "_C.so"
    data = container(Entry("sm_90a")) + container(Entry("sm_80"), Entry("sm_80", kind=PTX))
    path.write_bytes(elf(Part(".nv_fatbin", data)))
    options = ["--gpu", "9.0", "--gpu", "sm_120", "--driver-cuda", "12.8"]
    assert run(["inspect", str(path), *options]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "on 9.0 (H100, H200, GH200)" in lines
    assert f"~ {path}" in lines
    assert f"✗ {path}" in lines
    assert run(["inspect", str(path), *options, "--format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["objects"]
    assert [(each["gpu"], each["runs"]) for each in found["verdicts"]] == [
        ("sm_90", "some"),
        ("sm_120", "none"),
    ]
    assert run(["inspect", str(path), "--gpu", "h100"]) == 2
