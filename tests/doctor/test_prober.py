"""The process beside: the same facts, and an answer when it crashes, hangs or is not needed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from dsv4_doctor.prober import asking, begin, begun, divided, serving, stop
from dsv4_doctor.probes import cuda_early, registry
from dsv4_doctor.probes.registry import PROBES, Request

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsv4_doctor.snapshot import Snapshot

DOCTOR = [sys.executable, "-m", "dsv4_doctor"]
PLAIN = [each for each in PROBES if not each.deep]
TOGETHER = {each.name for each in PLAIN if each.group in {"driver", "installed"}}
FEW, ENOUGH = 2, 8


@pytest.fixture(params=[FEW, ENOUGH])
def processors(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """So many processors, whatever this machine has: both ways to divide the probes."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: set(range(request.param)))


one_process = pytest.mark.parametrize("processors", [FEW], indirect=True)
all_processes = pytest.mark.parametrize("processors", [ENOUGH], indirect=True)


def facts() -> Snapshot:
    process = begun()
    assert process is not None
    return process.take(Request())()


def runs(process: str) -> bool:
    try:
        return " Z " not in Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False


def errors(snapshot: Snapshot) -> dict[str, str]:
    return {run.name: run.error for run in snapshot.probes if run.error is not None}


@pytest.mark.usefixtures("processors")
def test_the_probes_are_those_of_one_process() -> None:
    begin(["check"])
    found = facts()
    alone = registry.take_snapshot(Request())
    assert [run.name for run in found.probes] == [run.name for run in alone.probes]
    assert errors(found) == errors(alone)
    assert found.toolkits == alone.toolkits
    assert found.compilers == alone.compilers
    assert found.host is not None
    assert found.resources is not None


@pytest.mark.usefixtures("processors")
def test_the_result_can_be_asked_for_again() -> None:
    begin(["check"])
    process = begun()
    assert process is not None
    finish = process.take(Request())
    assert finish() is finish()


@pytest.mark.usefixtures("processors")
def test_only_one_request_is_answered_there() -> None:
    begin(["snapshot"])
    assert begun() is not None
    assert begun() is None


@pytest.mark.parametrize(
    "arguments",
    [
        *([], ["--help"], ["build"], ["check", "--help"], ["snapshot", "-h"]),
        *(["check", "--from", "a.json"], ["check", "--from=a.json"]),
    ],
)
def test_it_is_begun_only_where_facts_are_taken(arguments: list[str]) -> None:
    begin(arguments)
    assert begun() is None


@one_process
@pytest.mark.usefixtures("processors")
def test_a_crash_is_what_every_probe_there_says(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_arguments: object) -> NoReturn:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    monkeypatch.setattr(serving, "_load_and_answer", crash)
    begin(["check"])
    found = errors(facts())
    assert found.keys() >= TOGETHER
    reason = "the process that runs the probes ended with signal 9"
    assert {found[name] for name in TOGETHER} == {reason}
    assert "resources" not in found


@all_processes
@pytest.mark.usefixtures("processors")
def test_a_driver_that_crashes_takes_nothing_else_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def crash() -> NoReturn:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    monkeypatch.setattr(cuda_early, "begin", crash)
    begin(["check"])
    snapshot = facts()
    reason = "the process that runs the probes ended with signal 9"
    names = {each.name for each in PLAIN if each.group == "driver"}
    assert {name for name, error in errors(snapshot).items() if error == reason} == names
    assert snapshot.python is not None
    assert snapshot.resources is not None


@pytest.mark.parametrize("number", [1, 2, 3, 4, 64])
def test_every_group_runs_once(number: int) -> None:
    groups = [group for process in divided(number) for group in process]
    assert len(groups) == len(set(groups))
    assert {"driver", "installed"} <= set(groups)
    assert ("host" in groups) is (number >= 4)


@pytest.mark.parametrize("number", [None, 1, 64])
def test_it_is_begun_where_no_process_is_bound_to_processors(
    number: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: number)
    begin(["check"])
    process = begun()
    assert process is not None
    assert [each.groups for each in process.begun] == list(divided(number or 1))
    for each in process.begun:
        os.close(each.requests)


def test_an_end_before_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(_probes: Iterable[object]) -> NoReturn:
        os._exit(7)

    monkeypatch.setattr(registry, "load", leave)
    begin(["check"])
    process = begun()
    assert process is not None
    time.sleep(0.2)
    found = errors(process.take(Request())())
    assert found["python"] == "the process that runs the probes ended with exit status 7"


def test_what_was_waited_for_is_not_ended_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ended, running = (
        subprocess.Popen([sys.executable, "-c", code])
        for code in ("", "import time; time.sleep(60)")
    )
    ended.wait()
    sent: list[int] = []
    monkeypatch.setattr(os, "kill", lambda process, _number: sent.append(process))
    stop(ended.pid)
    stop(running.pid)
    assert sent == [running.pid]
    monkeypatch.undo()
    stop(running.pid)
    assert running.wait() == -signal.SIGTERM


def test_a_hang_is_waited_for_only_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(*_arguments: object) -> NoReturn:
        time.sleep(60)
        raise AssertionError

    monkeypatch.setattr(serving, "_load_and_answer", hang)
    monkeypatch.setattr(asking, "_GRACE", -registry.LIMIT + 0.2)
    begin(["check"])
    process = begun()
    assert process is not None
    found = errors(process.take(Request())())
    for each in process.begun:
        stop(each.process)
    assert found["python"] == "the process that runs the probes does not answer"


def test_cuda_ends_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_early, "has_gpu", lambda _names: True)
    monkeypatch.setattr(cuda_early, "ASK", "import time; time.sleep(60)")
    begin(["check"])
    process = begun()
    assert process is not None
    number = process.begun[0].process
    children = Path(f"/proc/{number}/task/{number}/children")
    while not children.read_text():
        time.sleep(0.01)
    cuda = children.read_text().split()[0]
    time.sleep(0.5)  # By now it listens to the signal.
    stop(number)
    os.waitpid(number, 0)
    until = time.monotonic() + 10
    while runs(cuda) and time.monotonic() < until:
        time.sleep(0.01)
    assert not runs(cuda)


def test_the_command_uses_it() -> None:
    done = subprocess.run(
        [*DOCTOR, "snapshot"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    names = [run["name"] for run in json.loads(done.stdout)["probes"]]
    assert names == [probe.name for probe in PROBES if not probe.deep]


@pytest.mark.parametrize("argument", ["--help", "--no-such-option"])
def test_nothing_stays_when_no_facts_are_asked_for(argument: str) -> None:
    # Whoever stayed would hold the pipe, and the read would not end.
    done = subprocess.run(
        [*DOCTOR, "check", argument], capture_output=True, timeout=60, check=False
    )
    assert done.returncode == (0 if argument == "--help" else 2)
    assert b"Traceback" not in done.stderr


def test_ctrl_c_ends_both() -> None:
    # A group of its own, as a shell gives it; every process in it is interrupted.
    child = subprocess.Popen(
        [*DOCTOR, "check", "--deep"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    )
    begun = Path(f"/proc/{child.pid}/task/{child.pid}/children")
    while not begun.read_text() and child.poll() is None:
        time.sleep(0.01)
    os.killpg(child.pid, signal.SIGINT)
    _, stderr = child.communicate(timeout=60)
    assert child.returncode == 130, stderr
    assert stderr == b"interrupted\n"


# The first thing that happens in a process after the fork.
INTERRUPTIONS = {
    "in the process that was begun": "if not process: raise KeyboardInterrupt",
    "in the one that began it": "if process: raise KeyboardInterrupt",
    "in both": "raise KeyboardInterrupt",
    # Where it interrupts source text, `python -m` ends itself with the signal, if it is let.
    "in source text": "if process: exec('raise KeyboardInterrupt')",
    "where Python forgets it": "if process: Forgotten()",
    # An interrupted import leaves packages in parts, which nothing can be imported from.
    "within an import": "if process: sys.meta_path.clear(); raise KeyboardInterrupt",
}

INTERRUPTED = """
import os, sys
from dsv4_doctor.__main__ import main

fork = os.fork

class Forgotten:
    def __del__(self):
        raise KeyboardInterrupt

def interrupted():
    process = fork()
    {what}
    return process

os.fork = interrupted
os.sched_getaffinity = lambda _process: range({processors})
sys.argv[1:] = ["snapshot"]
main()
"""


@pytest.mark.parametrize("processors", [FEW, ENOUGH])
@pytest.mark.parametrize("where", INTERRUPTIONS)
def test_ctrl_c_is_said_once_wherever_it_comes(tmp_path: Path, where: str, processors: int) -> None:
    program = INTERRUPTED.format(what=INTERRUPTIONS[where], processors=processors)
    (tmp_path / "interrupted.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "-m", "interrupted"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if where == "in the process that was begun":  # Whoever asks it is told so, and goes on.
        assert done.stderr == ""
        ended = {run["error"] for run in json.loads(done.stdout)["probes"]} - {None}
        assert ended == {"the process that runs the probes ended with exit status 1"}
    else:
        assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_an_interpreter_that_was_asked_early_is_not_asked_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho asked >> {log}\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    done = subprocess.run(
        [*DOCTOR, "snapshot", "--python", str(python)], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["python"]["executable"] == str(python)
    assert log.read_text() == "asked\n"


def test_the_process_loads_nothing_that_its_probes_do_without() -> None:
    program = (
        "import sys\nfrom dsv4_doctor.prober import serving\n"
        "from dsv4_doctor.probes import registry\n"
        "registry.load(registry.wanted(registry.Request()))\n"
        "print(*sorted(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    heavy = {"datetime", "distro", "importlib.metadata", "logging", "packaging", "shutil", "typer"}
    assert not heavy & set(done.stdout.split())


def test_the_process_begins_before_anything_else_is_loaded() -> None:
    root = Path(asking.__file__).parents[2]
    program = (
        "import os, sys\nbefore = set(sys.modules)\n"
        f"sys.path.insert(0, {str(root)!r})\n"
        "import dsv4_doctor.__main__\nfrom dsv4_doctor.probes import cuda_early\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True
    )
    loaded = {name for name in done.stdout.split() if not name.startswith("dsv4_doctor")}
    assert loaded <= {"__future__", "atexit", "gc", "time"}
