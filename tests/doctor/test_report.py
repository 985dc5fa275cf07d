"""Findings, verdicts, exit statuses, and remedies as shell lines."""

from __future__ import annotations

import re
import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4_doctor.citation import Source
from dsv4_doctor.report import STATUSES, Command, Finding, Report, Status
from dsv4_doctor.target import Target

TARGET = Target("0.24.0")


def report(*statuses: Status) -> Report:
    findings = tuple(Finding(f"a.b.c{n}", status, "t") for n, status in enumerate(statuses))
    return Report("0", "host", "now", TARGET, findings)


@pytest.mark.parametrize(
    ("statuses", "verdict", "status", "strict"),
    [
        ((), "pass", 0, 0),
        (("pass", "skip"), "pass", 0, 0),
        (("pass", "warn"), "pass", 0, 1),
        (("unknown", "pass"), "unknown", 3, 3),
        (("unknown", "warn"), "unknown", 3, 1),
        (("unknown", "fail", "warn"), "fail", 1, 1),
    ],
)
def test_verdict_and_exit_status(
    statuses: tuple[Status, ...], verdict: str, status: int, strict: int
) -> None:
    made = report(*statuses)
    assert made.verdict == verdict
    assert made.exit_code() == status
    assert made.exit_code(strict=True) == strict


@given(st.lists(st.sampled_from(STATUSES), max_size=30))
def test_summary_counts_every_finding(statuses: list[Status]) -> None:
    made = report(*statuses)
    assert sum(made.summary.values()) == len(statuses)
    assert (made.verdict == "pass") == (not {"fail", "unknown"} & set(statuses))


def test_citation() -> None:
    assert Source("r", "vllm", "0.24.0", "CMakeLists.txt", 24).citation == (
        "vllm 0.24.0 CMakeLists.txt:24"
    )
    assert Source("r", "vllm").citation == "vllm"


@given(st.text(alphabet=st.characters(exclude_characters="\x00$"), max_size=40))
def test_a_variable_reaches_the_shell_as_it_is(value: str) -> None:
    line = Command(env={"DSV4_VALUE": value}).shell()
    words = shlex.split(line.removeprefix("export "))
    assert words == [f"DSV4_VALUE={value}"]


@given(st.text(alphabet="$`\"'\\ (){}aA;&|\n", max_size=20))
def test_only_a_name_after_a_dollar_is_expanded(value: str) -> None:
    line = Command(env={"DSV4_VALUE": f"{value}$DSV4_KNOWN"}).shell()
    done = subprocess.run(
        ["/bin/sh", "-c", f'{line}\nprintf %s "$DSV4_VALUE"'],
        capture_output=True,
        text=True,
        check=True,
        env={"DSV4_KNOWN": "known", "PATH": ""},
    )
    assert done.stdout == re.sub(r"\$[aA]+", "", value) + "known"
    assert done.stderr == ""


def test_variables_are_unset_by_name() -> None:
    assert Command(unset=("CUDA_HOME", "CUDA_PATH")).shell() == "unset CUDA_HOME CUDA_PATH"


@pytest.mark.parametrize(
    ("command", "applicable"),
    [
        (Command(env={"A": "b"}, safe=True), True),
        (Command(unset=("A",), safe=True), True),
        (Command(argv=("mkdir", "a"), safe=True, undo=("rmdir", "a")), True),
        (Command(argv=("mkdir", "a"), undo=("rmdir", "a")), False),
        (Command(argv=("mkdir", "a"), safe=True), False),
        (Command(argv=("mkdir", "a"), safe=True, undo=("rmdir", "a"), root=True), False),
        (Command(env={"A": "b"}), False),
        (Command(safe=True), False),
    ],
)
def test_only_what_is_safe_and_has_a_way_back_is_applied(
    command: Command, applicable: bool
) -> None:
    assert command.applicable == applicable


def test_path_is_expanded_by_the_shell() -> None:
    line = Command(env={"DSV4_PATH": "/opt/cuda 13/bin:$HOME"}).shell()
    done = subprocess.run(
        ["sh", "-c", f'{line}; printf %s "$DSV4_PATH"'],
        capture_output=True,
        text=True,
        check=True,
        env={"HOME": "/root"},
    )
    assert done.stdout == "/opt/cuda 13/bin:/root"


def test_root_is_said_only_where_it_helps() -> None:
    command = Command(argv=("apt-get", "install", "-y", "g++"), root=True)
    assert command.shell() == "sudo apt-get install -y g++"
    assert command.shell(sudo=False) == "apt-get install -y g++"
