from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from dsv4_build.answers import answer
from dsv4_doctor.errors import BuildError

if TYPE_CHECKING:
    from pathlib import Path


def _ask(program: str, limit: float = 60.0) -> str:
    return answer(["sh", "-c", program], "nothing is known", limit=limit, hint="look yourself")


def test_the_answer_is_what_is_written_to_standard_output() -> None:
    assert _ask("echo yes; echo aside >&2") == "yes\n"


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("echo out; echo why >&2; exit 3", "why"),
        ("echo only here; exit 1", "only here"),
        ("exit 7", "exit status 7"),
        ("kill -9 $$", "exit status -9"),
    ],
)
def test_one_that_fails_says_why(program: str, said: str) -> None:
    with pytest.raises(BuildError) as failed:
        _ask(program)
    assert str(failed.value) == f"nothing is known: {said}"
    assert failed.value.hint == "look yourself"


def test_one_that_takes_too_long_or_is_not_there() -> None:
    with pytest.raises(BuildError, match=r"^nothing is known: .*0\.1 s"):
        _ask("sleep 60", limit=0.1)
    with pytest.raises(BuildError, match=r"^nothing is known: /no/such: No such file"):
        answer(["/no/such"], "nothing is known", limit=1.0)


def test_a_message_stays_readable() -> None:
    with pytest.raises(BuildError) as failed:
        _ask("seq 100000 >&2; echo the end >&2; exit 1")
    assert len(str(failed.value)) < 3000
    assert str(failed.value).endswith("the end")


def test_where_it_runs_and_with_what(tmp_path: Path) -> None:
    program = "import os; print(os.getcwd(), os.environ['A'], os.environ['LC_ALL'])"
    argv = [sys.executable, "-c", program]
    said = answer(argv, "", limit=60.0, cwd=str(tmp_path), env={"A": "b"})
    assert said.split() == [str(tmp_path.resolve()), "b", "C"]
