from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from tests.build.schedule.compilers import (
    GIB,
    PATIENCE,
    is_running,
    is_stopped,
    site,
    start,
    until,
)

from dsv4_build.schedule import launcher, relief, server
from dsv4_build.schedule.learned import Record

# A compiler that says who it is and runs until a file appears.
_WAITS = "echo $$ > {name}.pid; while ! test -e {name}.go; do sleep 0.02; done"

# One that is killed the first time, as the kernel does.
_KILLED_ONCE = "if test -e {name}.was; then echo fine; else touch {name}.was; {die}; fi"


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LOOK", 0.02)
    monkeypatch.setattr(server, "CLOSE_LOOK", 0.02)
    monkeypatch.setattr(server, "SETTLE_MOST", 5.0)


def _pid(root: Path, name: str) -> int:
    path = root / f"{name}.pid"
    until(lambda: path.is_file() and bool(path.read_text().strip()))
    return int(path.read_text())


def _go(root: Path, *names: str) -> None:
    for name in names:
        (root / f"{name}.go").touch()


def test_status_and_output_of_a_compiler_are_its_own(tmp_path: Path) -> None:
    with site(tmp_path) as here:
        child = here.compile("bad", "echo out; echo 'a.cu(1): error' >&2; exit 3")
        out, err = child.communicate(timeout=PATIENCE)
        assert (child.returncode, out, err) == (3, "out\n", "a.cu(1): error\n")
        (ended,) = here.events("ended")
    assert (ended["status"], ended["tries"], ended["learned"]) == (3, 1, False)
    assert not here.events("killed")
    assert here.events()[0]["event"] == "begin"
    assert here.events()[-1]["event"] == "end"


def test_two_streams_into_one_place_keep_their_order(tmp_path: Path) -> None:
    with site(tmp_path) as here:
        program = tmp_path / "both.sh"
        program.write_text("#!/bin/sh\nfor i in 1 2 3; do echo o$i; echo e$i >&2; done\n")
        program.chmod(0o755)
        command = ["sh", "-c", f"exec python3 -I -S {launcher.__file__} {program} -c a -o b.o 2>&1"]
        done = subprocess.run(
            command, env=here.variables, cwd=tmp_path, capture_output=True, check=True
        )
    assert done.stdout.split() == [b"o1", b"e1", b"o2", b"e2", b"o3", b"e3"]


def test_no_more_than_the_jobs_run_at_a_time(tmp_path: Path) -> None:
    with site(tmp_path, jobs=2) as here:
        children = [here.compile(f"u{i}", "sleep 0.1") for i in range(6)]
        assert [child.wait(PATIENCE) for child in children] == [0] * 6
        lines = here.events("admitted", "ended")
    running = most = 0
    for line in lines:
        running += 1 if line["event"] == "admitted" else -1
        most = max(most, running)
    assert most == 2
    assert running == 0


def test_the_longest_of_those_that_wait_starts_first(tmp_path: Path) -> None:
    with site(tmp_path, jobs=1) as here:
        here.compile("x", _WAITS.format(name="x"))
        _pid(tmp_path, "x")
        children = [here.compile("a", "true", kind="cpp"), here.compile("b", "true")]
        here.wait_for("waiting", count=3)
        _go(tmp_path, "x")
        assert [child.wait(PATIENCE) for child in children] == [0, 0]
        names = [line["name"] for line in here.events("ended")]
    assert names == ["_C:x.cu", "_C:b.cu", "_C:a.cpp"]


def test_nothing_starts_while_ninja_still_hands_units_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "SETTLE", 0.4)
    with site(tmp_path) as here:
        here.compile("a", "true").wait(PATIENCE)
        came, started = here.events("waiting", "admitted")
    assert started["at"] - came["at"] >= 0.35


def test_without_room_for_two_they_run_one_after_the_other(tmp_path: Path) -> None:
    with site(tmp_path, free=3 * GIB) as here:
        children = [here.compile(f"u{i}", "sleep 0.1") for i in range(3)]
        assert [child.wait(PATIENCE) for child in children] == [0] * 3
        kinds = [line["event"] for line in here.events("admitted", "ended")]
    assert kinds == ["admitted", "ended"] * 3


@pytest.mark.parametrize(
    "die",
    ["kill -9 $$", "echo 'g++: fatal error: Killed signal terminated program cc1plus'; exit 1"],
)
def test_a_killed_unit_is_tried_again_alone_and_nothing_else_is(tmp_path: Path, die: str) -> None:
    with site(tmp_path) as here:
        other = here.compile("other", _WAITS.format(name="other"))
        _pid(tmp_path, "other")
        child = here.compile("big", _KILLED_ONCE.format(name="big", die=die))
        here.wait_for("killed")
        late = here.compile("late", "true")
        here.wait_for("waiting", count=3)
        assert len(here.events("admitted")) == 2
        _go(tmp_path, "other")
        out, err = child.communicate(timeout=PATIENCE)
        assert (child.returncode, out, err) == (0, "fine\n", "")
        assert (other.wait(PATIENCE), late.wait(PATIENCE)) == (0, 0)
    order = [(line["event"], line["unit"]) for line in here.events("admitted", "ended")]
    assert order == [
        ("admitted", 1),
        ("admitted", 2),
        ("ended", 1),
        ("admitted", 2),
        ("ended", 2),
        ("admitted", 3),
        ("ended", 3),
    ]
    (killed,) = here.events("killed")
    assert (killed["unit"], killed["try"], killed["next"]) == (2, 1, "alone")
    assert any("tried again alone" in text for text in here.said)


def test_a_unit_that_is_killed_alone_is_given_up(tmp_path: Path) -> None:
    with site(tmp_path) as here:
        child = here.compile("big", "echo Killed; kill -9 $$")
        out, _ = child.communicate(timeout=PATIENCE)
        assert (child.returncode, out) == (137, "Killed\n")
    assert [line["next"] for line in here.events("killed")] == ["alone", "fatal"]
    assert min(here.server.learned["_C:big.cu"].curve.levels) == 1
    assert any("although it ran alone" in text for text in here.said)


def test_what_grows_is_stopped_when_memory_runs_short_and_goes_on_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A shell that has just started a program holds twice as much as one that has not.
    monkeypatch.setattr(relief, "STILL", 1000.0)
    with site(tmp_path) as here:
        for name in ("a", "b"):
            here.compile(name, _WAITS.format(name=name))
        pids = [_pid(tmp_path, "a"), _pid(tmp_path, "b")]
        here.free[0] = 3 * GIB // 2
        until(lambda: any(map(is_stopped, pids)))
        assert sum(map(is_stopped, pids)) == 1
        here.free[0] = 64 * GIB
        until(lambda: not any(map(is_stopped, pids)))
        _go(tmp_path, "a", "b")
        assert [child.wait(PATIENCE) for child in here.children] == [0, 0]
    assert len(here.events("paused")) == len(here.events("resumed")) == 1


def test_a_stopped_unit_is_given_up_when_the_other_needs_its_memory(tmp_path: Path) -> None:
    with site(tmp_path) as here:
        for name in ("a", "b"):
            here.compile(name, _WAITS.format(name=name))
        pids = [_pid(tmp_path, "a"), _pid(tmp_path, "b")]
        here.free[0] = 0
        here.wait_for("evicted")
        until(lambda: sum(map(is_running, pids)) == 1)
        here.free[0] = 64 * GIB
        _go(tmp_path, "a", "b")
        assert [child.wait(PATIENCE) for child in here.children] == [0, 0]
    assert here.server.evictions == 1
    assert not here.events("killed")
    assert sorted(line["tries"] for line in here.events("ended")) == [1, 2]


def test_a_server_that_ends_takes_its_compilers_with_it(tmp_path: Path) -> None:
    with site(tmp_path, jobs=1) as here:
        child = here.compile("a", _WAITS.format(name="a"))
        pid = _pid(tmp_path, "a")
        waiting = here.compile("b", "true")
    assert (child.returncode, waiting.returncode) == (1, 1)
    until(lambda: not is_running(pid))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_launcher_that_is_ended_leaves_no_compiler(tmp_path: Path, number: int) -> None:
    with site(tmp_path) as here:
        child = here.compile("a", _WAITS.format(name="a"))
        pid = _pid(tmp_path, "a")
        child.send_signal(number)
        until(lambda: not is_running(pid))
        assert child.wait(PATIENCE) == (-9 if number == signal.SIGKILL else 128 + number)
        assert here.compile("b", "true").wait(PATIENCE) == 0


_HASTY = """
import os, signal, time
spawn = os.posix_spawnp
def hasty(*arguments, **named):
    child = spawn(*arguments, **named)
    while not os.path.exists("a.pid"):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGTERM)
    return child
os.posix_spawnp = hasty
"""


def test_a_launcher_that_is_ended_while_a_compiler_starts_leaves_none(tmp_path: Path) -> None:
    with site(tmp_path) as here:
        program = tmp_path / "a.sh"
        program.write_text(f"#!/bin/sh\n{_WAITS.format(name='a')}\n")
        program.chmod(0o755)
        child = start(program, "CMakeFiles/_C.dir/a.cu.o", here.variables, tmp_path, _HASTY)
        here.children.append(child)
        assert child.wait(PATIENCE) == 128 + signal.SIGTERM
        pid = _pid(tmp_path, "a")
        until(lambda: not is_running(pid))


def test_a_compiler_gets_signals_as_without_a_launcher(tmp_path: Path) -> None:
    with site(tmp_path) as here:
        child = here.compile("a", "grep ^SigBlk: /proc/self/status")
        out, _ = child.communicate(timeout=PATIENCE)
    assert int(out.split()[1], 16) == 0


def test_a_build_that_is_over_is_said(tmp_path: Path) -> None:
    gone = {**os.environ, launcher.VARIABLE: str(tmp_path / "nobody")}
    child = start(Path("/bin/true"), "a.o", gone, tmp_path)
    _, err = child.communicate(timeout=PATIENCE)
    assert child.returncode == 1
    assert launcher.VARIABLE in err


def test_without_a_build_the_launcher_is_the_compiler(tmp_path: Path) -> None:
    plain = {name: value for name, value in os.environ.items() if name != launcher.VARIABLE}
    child = start(Path("/bin/echo"), "a.o", plain, tmp_path)
    assert child.communicate(timeout=PATIENCE) == ("-c x.cu -o a.o\n", "")


def test_what_cmake_tries_out_is_no_unit(tmp_path: Path) -> None:
    trial = tmp_path / "CMakeFiles" / "CMakeScratch" / "TryCompile-x"
    trial.mkdir(parents=True)
    with site(tmp_path) as here:
        assert here.compile("a", "true", cwd=trial).wait(PATIENCE) == 0
    assert here.server.count == 0


@pytest.mark.parametrize(
    "argv", [["nvcc", "-E", "a.cu"], ["nvcc", "a.o", "-o", "a.so"], ["nvcc", "-c", "a.cu", "-o"]]
)
def test_only_what_makes_an_object_is_a_unit(argv: list[str]) -> None:
    assert not launcher.is_unit(argv, "/build")


def test_compilers_are_what_the_kernel_should_take_first(tmp_path: Path) -> None:
    with site(tmp_path) as here:
        here.compile("a", _WAITS.format(name="a"))
        score = Path(f"/proc/{_pid(tmp_path, 'a')}/oom_score_adj")
        until(lambda: score.read_text().strip() == str(server.OOM_SCORE))
        _go(tmp_path, "a")


def test_costs_are_learned_only_where_a_compiler_was_seen(tmp_path: Path) -> None:
    real = tmp_path / "cc1plus"
    real.symlink_to("/bin/sleep")
    with site(tmp_path) as here:
        here.compile("real", f"{real} 0.3; true").wait(PATIENCE)
        here.compile("cached", "sleep 0.3; true").wait(PATIENCE)
    assert list(here.server.learned) == ["_C:real.cu"]
    assert isinstance(here.server.learned["_C:real.cu"], Record)
