"""Requirements: how they are written, and when each is present, missing or unknown."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.doctor.binary.builders import (
    FIXTURES,
    PTX,
    ZSTD,
    Entry,
    Wheel,
    kernels,
    library,
    zstd_frame,
)

from dsv4_doctor.arch import Arch
from dsv4_doctor.binary import zstd
from dsv4_doctor.binary.inspection import Options, inspect_path
from dsv4_doctor.binary.requirements import (
    Decision,
    archs_of_requirements,
    decide,
    families_of,
    parse_requirements,
)
from dsv4_doctor.errors import UsageError

PAGED = ("_ZN4vllm25paged_attention_v2_kernelIfE", "_ZN4vllm32paged_attention_v2_reduce_kernelIfE")


def decisions(path: Path, *texts: str, every: bool = False) -> dict[str, Decision]:
    requirements = parse_requirements(texts)
    found = inspect_path(path, Options(kernels=every, prove=families_of(requirements)))
    return {each.requirement: each for each in decide(found, requirements)}


def statuses(path: Path, *texts: str) -> dict[str, str]:
    return {text: each.status for text, each in decisions(path, *texts).items()}


def test_written_with_commas_or_repeated() -> None:
    parsed = parse_requirements(["fa3, paged-v2", "sm_90a", "fa3", "compute_80,,9.0"])
    assert [each.text for each in parsed] == ["fa3", "paged-v2", "sm_90a", "compute_80", "9.0"]
    assert families_of(parsed) == ("fa3", "paged-v2")
    assert archs_of_requirements(parsed) == (Arch(90, "a"), Arch(90))
    assert parsed[3].ptx == Arch(80)


@pytest.mark.parametrize("text", ["fa5", "sm_91", "compute_95", "90x", "sm_", "paged_v2", "-"])
def test_what_does_not_exist(text: str) -> None:
    with pytest.raises(UsageError, match="known: paged-v1, paged-v2, fa2, fa3") as caught:
        parse_requirements([text])
    assert repr(text) in str(caught.value)
    assert "sm_90" in str(caught.value)


def test_real_object() -> None:
    found = statuses(
        FIXTURES / "lz4.o",
        "fa3,paged-v2,sm_90a,sm_90,sm_80,sm_86,compute_80",
        "sm_100,sm_75,sm_87,fa2,compute_90,sm_80a",
    )
    here = [text for text, status in found.items() if status == "present"]
    assert here == ["fa3", "paged-v2", "sm_90a", "sm_90", "sm_80", "sm_86", "compute_80"]
    assert set(found.values()) == {"present", "missing"}


def test_wrong_architecture_has_neither_fa3_nor_half_of_paged_v2() -> None:
    found = decisions(FIXTURES / "wrong_arch.o", "fa3,paged-v2,sm_90,sm_90a")
    assert [each.status for each in found.values()] == ["missing", "missing", "present", "missing"]
    assert found["fa3"].reason == "no fa3 kernel in a cubin for sm_90a"


def test_evidence_of_a_family(tmp_path: Path) -> None:
    code = library(kernels("sm_90", *PAGED, "other"), kernels("sm_90", PAGED[0] + "more"))
    (tmp_path / "x.whl").write_bytes(Wheel(members={"v/_C.so": code}).data())
    first = decisions(tmp_path / "x.whl", "paged-v2")["paged-v2"]
    assert (first.object, first.arch, first.kernel, first.count, first.objects) == (
        *("v/_C.so", "sm_90", PAGED[0], 2, 1),
    )
    assert first.reason == "v/_C.so has at least 2 kernels in 1 cubin for sm_90"
    whole = decisions(tmp_path / "x.whl", "paged-v2", every=True)["paged-v2"]
    assert whole.reason == "v/_C.so has 3 kernels in 2 cubins for sm_90"


def test_evidence_of_an_architecture(tmp_path: Path) -> None:
    (tmp_path / "a.so").write_bytes(library(Entry("sm_90"), *[Entry("sm_90a")] * 2))
    (tmp_path / "b.so").write_bytes(library(Entry("sm_90"), Entry("sm_80", kind=PTX)))
    found = decisions(tmp_path, "sm_90,sm_90a,compute_80")
    assert [each.reason for each in found.values()] == [
        "a.so has 3 cubins for sm_90, sm_90a, and 1 more object",
        "a.so has 2 cubins for sm_90a",
        "b.so has 1 PTX image for compute_80",
    ]
    assert (found["sm_90"].count, found["sm_90"].objects) == (3, 2)


def test_kernels_that_no_binary_holds_are_never_present() -> None:
    found = decisions(FIXTURES / "lz4.o", "deep-gemm")["deep-gemm"]
    assert found.status == "unknown"
    assert "no binary holds them" in found.reason


def test_unreadable_object_makes_what_is_missing_unknown(tmp_path: Path) -> None:
    (tmp_path / "good.so").write_bytes(library(kernels("sm_90", *PAGED)))
    (tmp_path / "bad.so").write_bytes(library(Entry())[:-50])
    found = decisions(tmp_path, "paged-v2,sm_90,fa3,sm_80")
    assert [each.status for each in found.values()] == ["present", "present", "unknown", "unknown"]
    assert "but bad.so could not be read: " in found["fa3"].reason


def test_undecoded_cubin_makes_only_its_families_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zstd, "decoder", lambda: None)
    frame = zstd_frame(b"whatever")
    entry = Entry("sm_80", payload=frame, flags=ZSTD, compressed=len(frame), size=8)
    (tmp_path / "lib.so").write_bytes(library(entry, kernels("sm_90a", "other")))
    found = decisions(tmp_path / "lib.so", "paged-v2,fa3,sm_80,sm_100")
    assert [each.status for each in found.values()] == ["unknown", "missing", "present", "missing"]
    assert "1 cubin for sm_80" in found["paged-v2"].reason
    assert "no zstd decoder" in found["paged-v2"].reason


def test_nothing_inside_is_missing_and_not_unknown(tmp_path: Path) -> None:
    (tmp_path / "x.whl").write_bytes(Wheel(members={"a.py": b"x = 1"}).data())
    assert statuses(tmp_path / "x.whl", "fa3,sm_90") == {"fa3": "missing", "sm_90": "missing"}


def test_family_that_was_not_looked_for_is_a_mistake_of_the_caller() -> None:
    found = inspect_path(FIXTURES / "lz4.o")
    with pytest.raises(ValueError, match="did not look for fa3"):
        decide(found, parse_requirements(["fa3"]))
