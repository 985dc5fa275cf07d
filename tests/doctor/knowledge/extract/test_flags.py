"""Flags of ``vllm serve``, and their history over releases."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from dsv4_doctor.knowledge import load
from dsv4_doctor.knowledge.extract.flag_history import EMPTY, add
from dsv4_doctor.knowledge.extract.flags import declared

SETS = st.dictionaries(
    st.sampled_from(["0.7.2", "0.9.0", "0.10.2", "0.24.0", "0.33.0"]),
    st.frozensets(st.sampled_from(["--a", "--b", "--c"])),
    max_size=5,
)


def test_flags_by_call_and_by_field() -> None:
    code = (
        "class FrontendArgs:\n"
        "    host: str | None = None\n"
        "    api_key: str = ''\n"
        "def add(parser):\n"
        "    for key, value in kwargs.items():\n"
        "        group.add_argument(f\"--{key.replace('_', '-')}\", **value)\n"
        "    group.add_argument(\n        '--model', '-m', default='-x')\n"
        "    other('--not-a-flag')\n"
    )
    assert sorted(declared(code)) == [("--api-key", 3), ("--host", 2), ("--model", 8)]


def test_fields_are_flags_only_where_they_are_made_so() -> None:
    assert list(declared("class FrontendArgs:\n    host: str = ''\n")) == []


@given(SETS, st.randoms())
def test_the_history_is_the_membership_in_whatever_order(
    sets: dict[str, frozenset[str]], order: object
) -> None:
    names = list(sets)
    order.shuffle(names)  # type: ignore[attr-defined]
    history = EMPTY
    for name in names:
        history = add(history, name, dict.fromkeys(sets[name], ("f.py", 1)))
    assert history["releases"] == sorted(sets, key=Version)
    assert set(history["flags"]) == {flag for each in sets.values() for flag in each}
    for flag, each in history["flags"].items():
        held = [
            name
            for name in history["releases"]
            if any(Version(a) <= Version(name) <= Version(b) for a, b in each["spans"])
        ]
        assert held == [name for name in history["releases"] if flag in sets[name]]
        assert each["at"]["release"] == held[-1]


@given(SETS)
def test_a_release_read_again_changes_nothing(sets: dict[str, frozenset[str]]) -> None:
    history = EMPTY
    for name, flags in [*sets.items(), *sets.items()]:
        history = add(history, name, dict.fromkeys(flags, ("f.py", 1)))
    once = EMPTY
    for name, flags in sets.items():
        once = add(once, name, dict.fromkeys(flags, ("f.py", 1)))
    assert history == once


def test_the_flags_of_every_known_release_are_known() -> None:
    assert tuple(reversed(load.flag_releases())) == load.release_names()


# The front end's have stood in three files.
@pytest.mark.parametrize("flag", ["--max-model-len", "--host", "--port", "--uvicorn-log-level"])
def test_flags_that_every_known_release_has(flag: str) -> None:
    known = load.flags()[flag]
    newest, oldest = load.release_names()[0], load.release_names()[-1]
    assert known.spans == ((oldest, newest),)
    assert not known.within("0.0.1")


def test_a_flag_that_went_away() -> None:
    known = load.flags()["--calculate-kv-scales"]
    assert known.within("0.24.0")
    assert not known.within("0.33.0")
