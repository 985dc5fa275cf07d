"""Names of GPU architectures."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dsv4_doctor.arch import Arch

archs = st.builds(Arch, st.integers(min_value=10, max_value=999), st.sampled_from(["", "a", "f"]))


@given(archs)
def test_every_way_to_write_an_architecture_reads_back(arch: Arch) -> None:
    plain = f"{arch.number}{arch.suffix}"
    for text in (arch.sm, arch.compute, arch.dotted, plain, str(arch), arch.sm.upper()):
        assert Arch.parse(text) == arch


@pytest.mark.parametrize(
    ("text", "sm"),
    [
        ("sm_90a", "sm_90a"),
        ("sm90", "sm_90"),
        ("SM_90A", "sm_90a"),
        ("compute_100f", "sm_100f"),
        ("9.0a", "sm_90a"),
        ("12.1", "sm_121"),
        (" 8.6 ", "sm_86"),
        ("120f", "sm_120f"),
    ],
)
def test_parse(text: str, sm: str) -> None:
    assert Arch.parse(text).sm == sm


@pytest.mark.parametrize(
    "text",
    [
        "", "sm_", "9", "sm_9", "9.", ".0", "9.0b", "9.00", "sm_1000", "90+PTX", "9.0+PTX",
        "sm_90 sm_80", "hopper", "-90", "0.9", "sm_090", "\u0669\u0660", "\u017fm_90",
    ],
)  # fmt: skip
def test_what_is_no_architecture_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a GPU architecture"):
        Arch.parse(text)


@given(st.text(alphabet="sm_compute0123456789.af+PTX ") | st.text())
@example("sm_007")
def test_a_text_is_an_architecture_or_a_value_error(text: str) -> None:
    with suppress(ValueError):
        arch = Arch.parse(text)
        assert Arch.parse(arch.sm) == Arch.parse(arch.dotted) == arch


def test_an_architecture_has_a_compute_capability() -> None:
    arch = Arch.parse("sm_103f")
    assert (arch.major, arch.minor, arch.suffix) == (10, 3, "f")
    assert arch.base == Arch(103)
    assert (arch.sm, arch.compute, arch.dotted) == ("sm_103f", "compute_103f", "10.3f")


def test_architectures_sort_by_number_and_then_by_suffix() -> None:
    names = ["sm_100", "sm_90a", "sm_90", "sm_75", "sm_90f"]
    ordered = sorted(Arch.parse(each) for each in names)
    assert [each.sm for each in ordered] == ["sm_75", "sm_90", "sm_90a", "sm_90f", "sm_100"]


@given(archs)
def test_the_base_has_no_suffix_and_is_the_same_gpu(arch: Arch) -> None:
    assert arch.base.base == arch.base
    assert (arch.base.major, arch.base.minor, arch.base.suffix) == (arch.major, arch.minor, "")
