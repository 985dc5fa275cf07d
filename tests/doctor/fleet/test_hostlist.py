"""Folding names: nothing is lost, nothing is made up."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_doctor.fleet.hostlist import fold


def unfold(text: str) -> set[str]:
    """Read the bracket form back."""
    names: set[str] = set()
    for part in re.findall(r"[^,\[\]]*(?:\[[^\]]*\])?[^,\[\]]*", text):
        match = re.fullmatch(r"([^\[]*)\[([^\]]*)\](.*)", part)
        if match is None:
            names |= {part} - {""}
            continue
        for run in match[2].split(","):
            first, _, last = run.partition("-")
            for number in range(int(first), int(last or first) + 1):
                names.add(f"{match[1]}{number:0{len(first)}}{match[3]}")
    return names


@pytest.mark.parametrize(
    ("names", "folded"),
    [
        (["n1", "n2", "n3", "n7"], "n[1-3,7]"),
        (["n001", "n002", "n010", "n099", "n100"], "n[001-002,010,099-100]"),
        (["n9", "n10", "n11"], "n[9-11]"),
        (["n1", "n01"], "n01,n1"),
        (["r1-n2.example", "r1-n3.example", "login"], "login,r1-n[2-3].example"),
        (["a", "a", "b"], "a,b"),
        ([], ""),
    ],
)
def test_folds(names: list[str], folded: str) -> None:
    assert fold(names) == folded


@given(st.sets(st.from_regex(r"[a-z]{1,3}-?[0-9]{1,4}[a-z.]{0,2}", fullmatch=True)))
def test_what_is_folded_can_be_unfolded(names: set[str]) -> None:
    assert unfold(fold(names)) == names
    assert fold(sorted(names)) == fold(sorted(names, reverse=True))


@given(st.lists(st.text()))
def test_any_text_folds(names: list[str]) -> None:
    assert isinstance(fold(names), str)
