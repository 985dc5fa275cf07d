"""What an unread command line will ask for: the same as when it is read, or asked for again."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_doctor.cli import main
from dsv4_doctor.prober import asking, begin, begun
from dsv4_doctor.prober.arguments import last, values
from dsv4_doctor.prober.guess import guess
from dsv4_doctor.probes.registry import Request

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dsv4_doctor.snapshot import Snapshot


class StoppedError(Exception):
    """The request is known."""


@pytest.mark.parametrize(
    "arguments",
    [
        ["check"],
        ["check", "--format", "json"],
        ["check", "--python", "/venv", "--arch", "sm_90", "--arch=sm_100"],
        ["check", "--python=/one", "--python", "/two"],
        ["check", "--deep", "--model", "/models/x", "--for", "serve"],
        ["check", "--vllm", "0.24.0"],
        ["check", "--vllm", "."],
        ["check", "--vllm=/nowhere", "--output", "-", "--select", "cuda.*"],
        ["snapshot", "--python", "/venv", "--deep", "--redact"],
    ],
)
def test_it_is_what_the_command_line_asks_for(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Request] = []

    def take(_self: object, request: Request) -> Callable[[], Snapshot]:
        asked.append(request)
        raise StoppedError

    monkeypatch.setattr(asking.Prober, "take", take)
    begin(arguments)
    main.run(arguments)
    assert asked == [guess(arguments)]


def test_a_wrong_guess_is_made_good() -> None:
    begin(["check", "--python", "/no/such/python"])
    process = begun()
    assert process is not None
    found = process.take(Request(python=sys.executable))()
    assert found.python is not None
    assert found.python.executable == sys.executable


def test_the_command_asks_for_what_it_was_told_in_another_form(tmp_path: Path) -> None:
    # The first value looks like the option's own, and the last one counts.
    wrong = ["--model", "--python", "--python", sys.executable]
    done = subprocess.run(
        [sys.executable, "-m", "dsv4_doctor", "check", *wrong, "--format", "json", "--facts"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    facts: dict[str, Any] = json.loads(done.stdout)["snapshot"]
    assert facts["python"]["executable"] == sys.executable


@given(st.lists(st.text(alphabet="-=apython h/", max_size=12), max_size=6))
def test_any_command_line_is_guessed_without_an_error(arguments: list[str]) -> None:
    guess(["check", *arguments])
    assert last(arguments, "--python") == next(reversed(values(arguments, "--python")), None)
