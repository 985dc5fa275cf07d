"""``dsv4-doctor fix`` on the command line."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from tests.doctor.machines import ROOT, bare, healthy

from dsv4_doctor.cli import judging
from dsv4_doctor.cli.main import run
from dsv4_doctor.codec import dump_snapshot
from dsv4_doctor.fix import journal, variables

BUILD = ("--for", "build", "--arch", "sm_90")


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this machine be the healthy one, whose CUDA_HOME is a link."""
    monkeypatch.setattr(judging, "start_facts", lambda *_, **__: healthy)


class Terminal(io.StringIO):
    """A terminal at which somebody answers."""

    def isatty(self) -> bool:
        return True


def answer(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(text))


def test_the_plan_of_a_stored_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.json"
    path.write_text(dump_snapshot(bare()), encoding="utf-8")
    assert run(["fix", "--plan", "--from", str(path), *BUILD]) == 0
    planned = capsys.readouterr().out
    assert planned.startswith("#!/bin/sh\n")
    assert "dsv4-doctor toolchain" in planned.splitlines()
    assert run(["fix", "--from", str(path), *BUILD]) == 0
    assert capsys.readouterr().out == planned
    assert run(["fix", "--from", str(path), *BUILD, "--ignore", "cuda.*,torch.*"]) == 0
    assert "toolchain" not in capsys.readouterr().out
    assert not (tmp_path / "state").exists()


@pytest.mark.usefixtures("here")
def test_applied_after_a_yes_and_taken_back(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer("y\n", monkeypatch)
    assert run(["fix", "--apply", *BUILD]) == 0
    output = capsys.readouterr()
    assert f"to do: export CUDA_HOME={ROOT}" in output.out
    assert "take 1 step? [y/N]" in output.err
    assert f"export CUDA_HOME={ROOT}\n" in variables.place().read_text()
    assert output.out.endswith(f"in the shell that builds or serves: . {variables.place()}\n")
    assert run(["fix", "--undo", "--yes"]) == 0
    assert "taken back: " in capsys.readouterr().out
    assert not variables.place().exists()
    assert run(["fix", "--undo"]) == 0
    assert capsys.readouterr().out == "nothing to take back\n"


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("said", ["n\n", "\n", ""])
def test_declined(
    said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(said, monkeypatch)
    assert run(["fix", "--apply", *BUILD]) == 1
    assert "nothing was changed" in capsys.readouterr().out
    assert not variables.place().exists()
    assert not journal.place().exists()


@pytest.mark.usefixtures("here")
def test_nobody_is_there_to_be_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert run(["fix", "--apply", *BUILD]) == 2
    assert "--yes goes on without asking" in capsys.readouterr().err
    assert not variables.place().exists()


@pytest.mark.usefixtures("here")
def test_nothing_that_may_be_applied(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fix", "--apply", *BUILD, "--ignore", "cuda.home.*"]) == 0
    assert "no step that is safe and reversible" in capsys.readouterr().out


def test_what_is_left_to_a_person_is_said_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(judging, "start_facts", lambda *_, **__: bare)
    assert run(["fix", "--apply", "--yes", *BUILD]) == 0
    said = capsys.readouterr().out
    assert "left to you: install torch==" in said
    assert "(not marked as safe; torch.build.present)" in said


def test_nothing_to_take_back(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fix", "--undo", "--yes"]) == 0
    assert "there is no journal" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--plan", "--apply"], "exclude each other"),
        (["--apply", "--undo"], "exclude each other"),
        (["--apply", "--from", "x.json"], "leave --from out"),
        (["--yes"], "--yes goes with"),
    ],
)
def test_what_does_not_fit_together(
    arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["fix", *arguments]) == 2
    assert named in capsys.readouterr().err
