"""Requirements read without packaging's own reader, held against it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from dsv4_doctor.checks import requirement
from dsv4_doctor.facts.python import Distribution

NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9._-]{0,10}[A-Za-z0-9]", fullmatch=True)
VERSIONS = st.sampled_from(
    ["", "==2.11.0", ">=1.0,<2", " >= 77.0.3 , < 81.0.0", "~=3.8.0", "!=6.30.*,>=5.29", "(>=1.0)"]
)
EXTRAS = st.sampled_from(["", "[cu13]", "[a,b]", " [a] "])
MARKERS = st.sampled_from(["", '; python_version > "3.11"', ' ; platform_system == "Linux"'])


@given(NAMES, EXTRAS, VERSIONS, MARKERS)
def test_the_same_as_packaging(name: str, extras: str, versions: str, marker: str) -> None:
    text = f"{name}{extras}{versions}{marker}"
    known = Requirement(text)
    read = requirement.parse(text)
    assert read is not None
    assert read.name == canonicalize_name(known.name)
    assert read.specifier == known.specifier


@given(st.text())
def test_any_text(text: str) -> None:
    read = requirement.parse(text)
    try:
        known = Requirement(text)
    except InvalidRequirement:
        return
    if known.url is not None:
        assert read is None
    elif text.isascii():
        assert read is not None
        assert read.specifier == known.specifier


@pytest.mark.parametrize("text", ["torch @ https://x/torch.whl", "", ";", "torch ==", "-r other"])
def test_what_asks_for_no_version(text: str) -> None:
    assert requirement.parse(text) is None


def test_what_one_asks_of_another() -> None:
    dist = Distribution("vllm", "0.24.0", "/site", ("Torch==2.11.0", "not one;;", "numpy"))
    asked = requirement.on(dist, "torch")
    assert asked is not None
    assert asked.text == "Torch==2.11.0"
    assert requirement.on(dist, "xformers") is None
    assert [each.name for each in requirement.of(dist)] == ["torch", "numpy"]
