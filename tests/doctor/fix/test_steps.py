"""From remedies to steps: each thing once, what is worst first, nothing that contradicts itself."""

from __future__ import annotations

import re

import pytest
from tests.doctor.checks.test_catalogue import machines
from tests.doctor.machines import ROOT, healthy, python_environment

from dsv4_doctor.evaluation import evaluate
from dsv4_doctor.facts.build_tools import BuildTool
from dsv4_doctor.fix.steps import plan
from dsv4_doctor.knowledge import load
from dsv4_doctor.report import Command, Finding, Remedy, Report, Status
from dsv4_doctor.snapshot import Snapshot
from dsv4_doctor.target import PURPOSES, Target

TARGET = Target("0.24.0", ("sm_90",), ("fa3",), "build")
# Programs that `fix --apply` may ever run, by their last part; none of them knows of drivers.
PROGRAMS = {"python", "python3", "mkdir"}

# As the probe lists what it did not find.
ABSENT = tuple(BuildTool(name, None, None) for name in ("cmake", "ninja", "git"))


def report(*found: tuple[str, Status, Remedy | None]) -> Report:
    findings = tuple(
        Finding(name, status, f"title of {name}", remedy=remedy) for name, status, remedy in found
    )
    return Report("1.0", "host", "now", TARGET, findings)


def sets(**env: str) -> Remedy:
    return Remedy("set it", (Command(env=env, safe=True),))


def test_the_worst_comes_first_and_what_is_well_needs_nothing() -> None:
    steps = plan(
        report(
            ("a.a.warn", "warn", Remedy("w")),
            ("a.a.pass", "pass", Remedy("p")),
            ("a.a.fail", "fail", Remedy("f")),
            ("a.a.none", "fail", None),
            ("a.a.unknown", "unknown", Remedy("u")),
        )
    )
    assert [step.text for step in steps] == ["f", "u", "w"]


def test_one_command_for_several_findings_is_one_step() -> None:
    steps = plan(
        report(
            ("a.a.one", "warn", sets(A="1")),
            ("a.a.two", "fail", sets(A="1")),
            ("a.a.three", "warn", Remedy("by hand")),
            ("a.a.four", "warn", Remedy("by hand")),
        )
    )
    assert [step.ids for step in steps] == [("a.a.two", "a.a.one"), ("a.a.three", "a.a.four")]
    assert [step.applicable for step in steps] == [True, False]


def test_a_variable_is_set_to_one_thing() -> None:
    steps = plan(
        report(
            ("a.a.one", "fail", sets(A="1", PATH="/1:$PATH")),
            ("a.a.two", "warn", sets(A="2")),
            ("a.a.three", "warn", sets(PATH="/2:$PATH")),
            ("a.a.four", "warn", Remedy("unset it", (Command(unset=("A",), safe=True),))),
        )
    )
    assert [step.against for step in steps] == ["", "A", "", "A"]
    assert [step.applicable for step in steps] == [True, False, True, False]


def test_control_characters_are_for_a_person() -> None:
    (step,) = plan(report(("a.a.a", "fail", sets(A="x\x1b[2J"))))
    assert not step.plain
    assert not step.applicable


def test_the_other_ways_are_kept() -> None:
    commands = (Command(env={"A": "1"}, safe=True), Command(argv=("b",), root=True))
    (step,) = plan(report(("a.a.a", "fail", Remedy("x", commands))))
    assert step.command == commands[0]
    assert step.others == commands[1:]


def remedies() -> list[Command]:
    """Return the commands of all remedies that the checks give over many machines."""
    found: list[Command] = []
    without_tools = healthy(build_tools=ABSENT, python=python_environment(virtual=True))
    for machine in (*machines(), without_tools, Snapshot("", "", ())):
        for purpose in PURPOSES:
            for archs in ((), ("sm_90",)):
                target = Target("0.24.0", archs, ("fa3", "deepseek-v4"), purpose, "article")
                made = evaluate(machine, target, load.release("0.24.0"))
                for finding in made.findings:
                    found += finding.remedy.commands if finding.remedy is not None else ()
    return found


def test_what_is_marked_safe_is_the_users_own_and_has_a_way_back() -> None:
    marked = [command for command in remedies() if command.safe]
    assert any(command.env for command in marked)
    assert any(command.argv for command in marked)
    for command in marked:
        assert command.applicable, command
        assert not command.root
        for argv in filter(None, (command.argv, command.undo)):
            assert argv[0].rpartition("/")[2] in PROGRAMS
            assert not [word for word in argv if "driver" in word]


def test_a_command_has_nothing_left_to_fill_in() -> None:
    placeholder = re.compile(r"PATH|FILE|DIR|NAME|VERSION|ID|N|<.*>|\.{3}")
    for command in remedies():
        assert [word for word in command.argv if placeholder.fullmatch(word)] == []


@pytest.mark.parametrize("virtual", [True, False])
def test_a_tool_goes_into_a_virtual_environment_only(virtual: bool) -> None:
    python = healthy().python
    assert python is not None
    machine = healthy(build_tools=ABSENT, python=python_environment(virtual=virtual))
    made = evaluate(machine, TARGET, load.release("0.24.0"))
    steps = {step.ids[0]: step for step in plan(made)}
    assert steps["build.tools.ninja"].applicable is virtual
    command = steps["build.tools.ninja"].command
    assert command is not None
    assert command.undo[-3:] == ("uninstall", "-y", "ninja")
    assert not steps["build.tools.git"].applicable


def test_one_toolkit_is_chosen_in_one_step() -> None:
    made = evaluate(healthy(), TARGET, load.release("0.24.0"))
    (step,) = [step for step in plan(made) if "cuda.home.symlink" in step.ids]
    assert step.command == Command(env={"CUDA_HOME": ROOT, "PATH": f"{ROOT}/bin:$PATH"}, safe=True)
