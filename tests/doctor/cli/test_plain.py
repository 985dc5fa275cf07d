"""Plain command lines: read as Typer reads them, or left to it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_doctor.cli import check, main, plain

if TYPE_CHECKING:
    from dsv4_doctor.cli.judging import Asked

DOCTOR = [sys.executable, "-m", "dsv4_doctor"]

_VALUES = st.sampled_from(["0.24.0", "/venv", "sm_90", "a b", "x=y", "fa3"])
_ONE = st.sampled_from([*plain._ONE, *plain._MANY, "--format"])
_WITH_VALUE = st.one_of(
    st.tuples(_ONE, _VALUES).map(list),
    st.tuples(_ONE, _VALUES).map(lambda pair: ["=".join(pair)]),
)
_WITHOUT = st.sampled_from([*plain._YES, "--strict", "--facts"]).map(lambda option: [option])
_ANY = st.lists(st.one_of(_WITH_VALUE, _WITHOUT), max_size=5).map(
    lambda parts: [word for part in parts for word in part]
)


class StoppedError(Exception):
    """What is asked for is known."""


def typers(arguments: list[str]) -> Asked:
    """Return what Typer reads in a command line."""
    asked: list[Asked] = []

    def note(wanted: Asked) -> NoReturn:
        asked.append(wanted)
        raise StoppedError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(check, "prepare", note)
        main.run(arguments)
    return asked[0]


@given(_ANY)
def test_it_is_what_typer_reads(words: list[str]) -> None:
    arguments = ["check", *words, "--format", "json"]
    found = plain.read(arguments)
    if "--format" not in "".join(words):
        assert found is not None
    if found is not None:
        assert found.asked == typers(arguments)
        assert (found.strict, found.facts) == ("--strict" in words, "--facts" in words)


@pytest.mark.parametrize(
    "words",
    [
        *([], ["--format", "text"], ["--format"], ["--format", "json", "--select", "cuda.*"]),
        *(["--format", "json", "--arch"], ["--format", "json", "--arch", "--deep"]),
        *(["--format", "json", "--deep=1"], ["--format", "json", "extra"], ["--format="]),
        *(["--format", "json", "--no-such"], ["--format", "json", "--from", "a.json"]),
        *(["--format", "json", "--output", "a.json"], ["--format", "json", "--help"]),
        ["--format", "json", "--for", "serve"],
    ],
)
def test_the_rest_is_left_to_typer(words: list[str]) -> None:
    assert plain.read(["check", *words]) is None


@given(st.lists(st.text(alphabet="-=acdhefjmnoprst ", max_size=10), max_size=6))
def test_any_words_are_read_without_an_error(words: list[str]) -> None:
    plain.read(["check", *words])


def ran(*arguments: str, code: str = "") -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-c", code] if code else DOCTOR
    return subprocess.run([*program, *arguments], capture_output=True, text=True, check=False)


def test_both_ways_answer_alike() -> None:
    typer = "import sys; from dsv4_doctor.cli.main import main; main()"
    words = ("check", "--format", "json", "--arch", "sm_90", "--strict")
    first, second = ran(*words), ran(*words, code=typer)
    assert first.returncode == second.returncode
    one, two = json.loads(first.stdout), json.loads(second.stdout)
    assert one.keys() == two.keys()
    assert [each["id"] for each in one["findings"]] == [each["id"] for each in two["findings"]]


def test_typer_is_not_loaded_for_it() -> None:
    code = (
        "import os, sys\nfrom dsv4_doctor import __main__\nleave = os._exit\n"
        "def shown(status):\n"
        "    sys.stderr.write(str('typer' in sys.modules))\n"
        "    sys.stderr.flush()\n"
        "    leave(status)\n"
        "os._exit = shown\n__main__.main()"
    )
    # Said by both processes.
    assert ran("check", "--format", "json", code=code).stderr == "False" * 2


def test_errors_are_those_of_the_command() -> None:
    done = ran("check", "--format", "json", "--vllm", "0.0.1")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stdout == ""
