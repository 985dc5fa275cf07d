"""Which Python environment is meant, and asking its interpreter."""

from __future__ import annotations

import sys
import sysconfig
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.probes.fakes import program

from dsv4_doctor.probes import interpreter
from dsv4_doctor.probes.interpreter import Choice, Interpreter, InterpreterError

ANSWER = ("3.12.3 (main) [GCC 13]", "/venv", "/usr", "", ["", "/venv/lib/site-packages", "/x"])


def environment(prefix: Path) -> str:
    return str(program(prefix / "bin/python", f'echo "{ANSWER!r}"'))


def test_the_running_one_is_the_last_choice() -> None:
    assert interpreter.choose(None, {}) == Choice(sys.executable, "own", own=True)


def test_an_interpreter_by_path_by_name_and_by_directory(tmp_path: Path) -> None:
    python = environment(tmp_path)
    expected = Choice(python, "--python")
    assert interpreter.choose(python, {}) == expected
    assert interpreter.choose("python", {"PATH": f"{tmp_path}/bin"}) == expected
    assert interpreter.choose(str(tmp_path), {}) == expected


def test_asking_for_the_running_one() -> None:
    assert interpreter.choose(sys.executable, {}) == Choice(sys.executable, "--python", own=True)


@pytest.mark.parametrize("name", ["/no/such/python", "no-such-python", ""])
def test_an_interpreter_that_is_not_there_is_named(name: str) -> None:
    with pytest.raises(InterpreterError, match="not a Python interpreter that can be run"):
        interpreter.choose(name, {"PATH": "/no/such/place"})


def test_activated_environments_in_their_order(tmp_path: Path) -> None:
    virtual, conda = environment(tmp_path / "venv"), environment(tmp_path / "conda")
    environ = {"VIRTUAL_ENV": f"{tmp_path}/venv", "CONDA_PREFIX": f"{tmp_path}/conda"}
    assert interpreter.choose(None, environ) == Choice(virtual, "VIRTUAL_ENV")
    del environ["VIRTUAL_ENV"]
    assert interpreter.choose(None, environ) == Choice(conda, "CONDA_PREFIX")


def test_an_activated_environment_that_is_the_running_one(tmp_path: Path) -> None:
    environment(tmp_path)
    environ = {"VIRTUAL_ENV": sys.prefix, "CONDA_PREFIX": str(tmp_path)}
    assert interpreter.choose(None, environ).own


def test_an_activated_environment_without_an_interpreter(tmp_path: Path) -> None:
    assert interpreter.choose(None, {"VIRTUAL_ENV": str(tmp_path)}).own


def test_the_running_one_is_described_without_a_child() -> None:
    found = interpreter.describe(interpreter.choose(None, {}))
    assert found.version == sys.version.split(maxsplit=1)[0]
    assert found.prefix == sys.prefix
    assert found.include == sysconfig.get_path("include")
    assert any(path.endswith("site-packages") for path in found.sites)


def test_a_real_child_describes_itself_the_same_way() -> None:
    child = interpreter.describe(Choice(sys.executable, "--python"))
    own = interpreter.describe(interpreter.choose(None, {}))
    assert (child.version, child.prefix, child.include) == (own.version, own.prefix, own.include)
    assert set(child.sites) <= set(own.sites)


def test_another_one_is_asked_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    python = str(program(tmp_path / "python", f'echo asked >> {log}; echo "{ANSWER!r}"'))
    expected = Interpreter(
        "3.12.3", "/venv", ("/venv/lib/site-packages",), "/usr/include/python3.12", virtual=True
    )
    assert interpreter.describe(Choice(python, "--python")) == expected
    assert interpreter.describe(Choice(python, "--python")) == expected
    assert log.read_text() == "asked\n"


def test_a_failure_is_not_remembered(tmp_path: Path) -> None:
    python = tmp_path / "python"
    with pytest.raises(InterpreterError, match="No such file"):
        interpreter.describe(Choice(str(python), "--python"))
    program(python, f'echo "{ANSWER!r}"')
    assert interpreter.describe(Choice(str(python), "--python")).version == "3.12.3"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("exit 1", "no output"),
        ("echo rubbish", "rubbish"),
        ("echo Fatal Python error >&2; exit 1", "Fatal Python error"),
        ("sleep 60", "no answer within 0.2 s"),
    ],
)
def test_one_that_does_not_answer_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, reason: str
) -> None:
    monkeypatch.setattr(interpreter, "_LIMIT", 0.2 if "sleep" in body else 10.0)
    python = str(program(tmp_path / "python", body))
    with pytest.raises(InterpreterError, match=reason) as raised:
        interpreter.describe(Choice(python, "--python"))
    assert str(raised.value).startswith(python)


def test_only_the_last_line_is_the_answer() -> None:
    found = interpreter.parse_answer(f"printed by a .pth file\n{ANSWER!r}\n")
    assert found.sites == ("/venv/lib/site-packages",)


def test_flags_of_the_build_are_part_of_the_headers_path() -> None:
    answer = "('3.14.0 free-threading build', '/p', '/base', 't', [])"
    assert interpreter.parse_answer(answer).include == "/base/include/python3.14t"


@given(st.text() | st.lists(st.none() | st.text() | st.lists(st.text())).map(repr))
def test_any_other_text_is_a_value_error(text: str) -> None:
    with suppress(ValueError):
        interpreter.parse_answer(text)
