from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dsv4_build.compilers import HostCompiler
from dsv4_build.reproduce import circumstances, disguise
from dsv4_build.reproduce.circumstances import AHEAD, plain, strange, variations
from dsv4_build.reproduce.clock import compile_clock
from dsv4_doctor.process import run

# The time of day and a clock that no time of day moves, as a program sees them.
_CLOCKS = "import time; print(int(time.time()), int(time.monotonic()))"


def _both(tmp_path: Path, clock: str) -> tuple[circumstances.Circumstances, ...]:
    return plain(tmp_path / "a", 2), strange(tmp_path / "b", 2, clock)


def test_everything_is_varied_that_this_machine_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disguise, "refusal", lambda: None)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 3})
    first, second = _both(tmp_path, "/lib/clock.so")
    assert (second.user, second.hostname, second.cpus) == (4711, "another-machine", (3,))
    found = variations(first, second, seconds=7.0, reordered=True, fixed=False)
    assert [each.name for each in found] == [
        *("path", "user", "umask", "locale", "timezone", "time", "hostname", "cores", "order")
    ]
    assert all(each.varied and each.first != each.second for each in found)


def test_what_could_not_be_varied_is_said_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disguise, "refusal", lambda: "no user namespace: EPERM")
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0})
    first, second = _both(tmp_path, "")
    found = variations(first, second, seconds=7.0, reordered=False, fixed=True)
    assert {each.name for each in found if each.varied} == {"umask", "locale", "timezone"}
    assert all(each.note for each in found if not each.varied)
    assert (first.jobs, second.jobs) == (2, 1)
    assert strange(tmp_path, 1, "").jobs == 2


def _compiler() -> HostCompiler:
    program = shutil.which("gcc")
    if program is None:
        pytest.skip("no gcc")
    return HostCompiler(name="gcc", cc=program, cxx=program, because="")


@pytest.mark.real
def test_programs_see_another_time_of_day_and_no_other_clock(tmp_path: Path) -> None:
    library = compile_clock(_compiler(), tmp_path)
    env = {"LD_PRELOAD": library, "ANOTHER_TIME": str(AHEAD)}
    argv = [sys.executable, "-I", "-S", "-c", _CLOCKS]
    plainly, shifted = (run(argv, limit=60, env=each).stdout.split() for each in ({}, env))
    assert abs(int(shifted[0]) - int(plainly[0]) - AHEAD) < 600
    assert abs(int(shifted[1]) - int(plainly[1])) < 600


def test_without_a_compiler_there_is_no_clock(tmp_path: Path) -> None:
    missing = HostCompiler(name="gcc", cc=str(tmp_path / "none"), cxx="", because="")
    assert compile_clock(missing, tmp_path) == ""


@pytest.mark.real
def test_a_disguised_process_keeps_its_files_and_its_children_see_the_same(
    tmp_path: Path,
) -> None:
    refusal = disguise.refusal()
    if refusal is not None:
        pytest.skip(refusal)
    code = (
        "import os, socket, subprocess, sys\n"
        "from dsv4_build.reproduce.disguise import become\n"
        "become(4711, 'another')\n"
        "open(sys.argv[1], 'w').close()\n"
        "print(os.getuid(), socket.gethostname(), flush=True)\n"
        "subprocess.run(['id', '-u'], check=True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "made")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["4711", "another", "4711"], done.stderr
    assert (tmp_path / "made").stat().st_uid == os.geteuid()
    assert os.uname().nodename != "another"


def test_a_kernel_that_refuses_is_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disguise, "_TRY", "raise PermissionError(1, 'Operation not permitted')")
    disguise.refusal.cache_clear()
    try:
        assert "Operation not permitted" in (disguise.refusal() or "")
    finally:
        disguise.refusal.cache_clear()
