from __future__ import annotations

import shutil
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dsv4_build import resume
from dsv4_build.journal import boot
from dsv4_build.plan import Step
from dsv4_build.resume import attempts, prepare, recorded
from dsv4_build.work import Workspace, workspace
from dsv4_doctor.process import run

STEP = Step("compile", "all of it", "0123")
BEGIN = {"event": "begin", "step": "compile", "boot": "one"}
END = {"event": "end", "step": "compile", "outcome": "failed"}


@pytest.fixture
def work(tmp_path: Path) -> Iterator[Workspace]:
    with workspace(tmp_path / "work", "key") as held:
        yield held


def _write(path: Path, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def _configure(work: Workspace, directory: Path, cache: str = "A=1") -> None:
    """Do what a CMake that ends does."""
    _write(directory / "CMakeCache.txt", cache)
    _write(directory / "CMakeFiles" / "4.0.0" / "CMakeCUDACompiler.cmake", cache)
    with recorded(work, lambda line: None) as line:
        line(f"-- Build files have been written to: {directory}")


def _begin(work: Workspace, name: str = "") -> None:
    """Begin an attempt, of an earlier boot when that is named: it has been prepared then."""
    work.journal.append("begin", step="compile", boot=name or boot())
    if name:
        work.journal.append("prepared")


def test_the_journal_tells_of_every_attempt() -> None:
    entries: list[dict[str, Any]] = [
        {"event": "build"},
        BEGIN,
        {"event": "prepared"},
        {"event": "configured", "directory": "/w/build"},
        {"event": "synced", "until": 7.5},
        {"event": "synced", "until": "torn"},
        END,
        BEGIN,
    ]
    first, second = attempts(entries, "two")
    assert (first.configured, first.synced, first.lost) == (frozenset({"/w/build"}), 7.5, False)
    assert (second.configured, second.synced, second.lost) == (frozenset(), 0.0, True)
    assert (first.prepared, second.prepared) == (True, False)
    assert not attempts([BEGIN], "one")[0].lost


def test_the_first_attempt_removes_nothing(work: Workspace) -> None:
    _begin(work)
    _write(work.build / "x.o")
    assert prepare(work) == []
    assert (work.build / "x.o").exists()


def test_a_directory_that_was_never_configured_is_not_believed(work: Workspace) -> None:
    _begin(work)
    half = _write(work.build / "CMakeCache.txt")
    copied = _write(work.source / "build" / "lib" / "half.py")
    wheel = _write(work.backend / "half.whl")
    _begin(work)
    assert len(prepare(work)) == 3
    assert not any(each.exists() for each in (half, copied, wheel))


def test_objects_of_a_configured_directory_stay(work: Workspace) -> None:
    _begin(work)
    temporary = work.source / "build" / "temp"
    _configure(work, temporary)
    made = _write(temporary / "CMakeFiles" / "_C.dir" / "x.cu.o")
    copied = _write(work.source / "build" / "lib" / "half.py")
    _begin(work)
    assert prepare(work) == ["lib was not complete and is made anew"]
    assert made.exists()
    assert not copied.exists()


def test_what_cmake_was_writing_is_as_it_was_when_it_had_last_ended(work: Workspace) -> None:
    _begin(work)
    _configure(work, work.build, "A=1")
    made = _write(work.build / "CMakeFiles" / "_C.dir" / "x.cu.o")
    _begin(work)  # This one is cut off in the middle of configuring.
    _write(work.build / "CMakeCache.txt", "A=")
    _write(work.build / "CMakeFiles" / "4.0.0" / "CMakeCUDACompiler.cmake", "")
    _write(work.build / "CMakeFiles" / "4.0.0" / "half")
    _write(work.build / "CMakeFiles" / "4.0.0" / "CompilerIdCUDA" / "a.out")
    _begin(work)
    assert prepare(work) == ["build was being configured and is configured anew"]
    assert (work.build / "CMakeCache.txt").read_text() == "A=1"
    detected = work.build / "CMakeFiles" / "4.0.0"
    assert [each.name for each in detected.iterdir()] == ["CMakeCUDACompiler.cmake"]
    assert (detected / "CMakeCUDACompiler.cmake").read_text() == "A=1"
    assert made.exists()


def test_a_configuration_that_could_not_be_kept_is_made_anew(work: Workspace) -> None:
    _begin(work)
    _configure(work, work.build)
    shutil.rmtree(work.configured)
    _begin(work)
    (work.build / "CMakeCache.txt").unlink()
    with recorded(work, lambda line: None) as line:  # CMake says so on a full disk, too.
        line(f"-- Build files have been written to: {work.build}")
    assert attempts(work.journal.read(), boot())[1].configured == frozenset()
    _begin(work)
    assert prepare(work) == ["build was being configured and is configured anew"]
    assert not work.build.exists()


def test_only_directories_of_the_build_are_noted(work: Workspace, tmp_path: Path) -> None:
    _begin(work)
    for place in (work.deps / "cutlass-subbuild", tmp_path / "elsewhere"):
        _configure(work, place)
    assert attempts(work.journal.read(), boot())[0].configured == frozenset()


def test_directories_go_by_the_name_that_this_process_knows(work: Workspace) -> None:
    _begin(work)
    _write(work.build / "CMakeCache.txt")
    with recorded(
        work, lambda line: None, lambda path: path.replace("/seen", str(work.root))
    ) as line:
        line("-- Build files have been written to: /seen/build")
    assert attempts(work.journal.read(), boot())[0].configured == {str(work.build)}


def test_what_a_machine_had_not_written_when_it_went_down_is_made_again(work: Workspace) -> None:
    _begin(work, "a boot before this")
    _configure(work, work.build)
    safe = _write(work.build / "safe.o")
    fetched = _write(work.deps / "cutlass-src" / "a.h")
    time.sleep(0.02)
    work.journal.append("synced", until=time.time() + resume._SLACK)
    time.sleep(0.02)
    log = _write(work.build / ".ninja_log")
    lost = _write(work.build / "lost.o")
    _begin(work)
    assert prepare(work) == [
        "1 files of the last moments before the machine went down are made anew"
    ]
    assert safe.exists()
    assert fetched.exists()
    assert log.exists()
    assert not lost.exists()


def test_an_attempt_that_was_cut_off_before_it_cleaned_up_leaves_that_to_the_next(
    work: Workspace,
) -> None:
    _begin(work, "a boot before this")
    _configure(work, work.build)
    lost = _write(work.build / "lost.o")
    _begin(work)
    _begin(work)
    assert any("went down" in note for note in prepare(work))
    assert not lost.exists()
    lost = _write(work.build / "lost.o")
    _begin(work)
    assert not any("went down" in note for note in prepare(work))
    assert lost.exists()


def test_half_fetched_projects_are_fetched_again_after_a_reboot(work: Workspace) -> None:
    _begin(work, "a boot before this")
    _configure(work, work.build)
    _write(work.deps / "cutlass-src" / "a.h")
    _begin(work)
    assert "fetched anew" in prepare(work)[0]
    assert not work.deps.exists()


def test_what_was_written_is_forced_out_now_and_then(work: Workspace) -> None:
    seen: list[str] = []
    with recorded(work, seen.append, interval=0.01) as line:
        line("[1/2] Building")
        while not any(each["event"] == "synced" for each in work.journal.read()):
            time.sleep(0.01)
    assert seen == ["[1/2] Building"]


_RULES = """
rule make
  command = {python} make.py $out
build a.o: make a.c
build b.o: make b.c
"""

# As a compiler does, in two halves; what was asked for is written down.
_MAKE = """
import sys
from pathlib import Path
Path("calls").open("a").write(sys.argv[1] + " ")
source = Path(sys.argv[1]).with_suffix(".c").read_text()
Path(sys.argv[1]).write_text(source[: len(source) // 2])
if Path("kill").exists():
    import os, signal
    os.kill(os.getsid(0), signal.SIGKILL)  # Ninja, which began the session.
    os.kill(os.getpid(), signal.SIGKILL)
Path(sys.argv[1]).write_text(source)
"""


@pytest.fixture
def ninja(tmp_path: Path) -> Path:
    _write(tmp_path / "build.ninja", _RULES.format(python=sys.executable))
    _write(tmp_path / "make.py", _MAKE)
    for name in ("a", "b"):
        _write(tmp_path / f"{name}.c", f"source of {name}")
    return tmp_path


def _ninja(directory: Path) -> list[str]:
    """Run ninja and return what it made."""
    (directory / "calls").write_text("")
    program = Path(sysconfig.get_path("scripts"), "ninja")
    run([str(program), "-C", str(directory), "-j1"], limit=60)
    return (directory / "calls").read_text().split()


@pytest.mark.real
def test_ninja_does_not_believe_an_object_that_it_was_killed_at(ninja: Path) -> None:
    (ninja / "kill").touch()
    assert _ninja(ninja) == ["a.o"]
    assert (ninja / "a.o").read_text() == "sourc"
    (ninja / "kill").unlink()
    assert _ninja(ninja) == ["a.o", "b.o"]
    assert (ninja / "a.o").read_text() == "source of a"
    assert _ninja(ninja) == []


@pytest.mark.real
@pytest.mark.parametrize("cut", range(1, 40, 6))
def test_ninja_takes_a_torn_line_of_its_log_for_none(ninja: Path, cut: int) -> None:
    assert _ninja(ninja) == ["a.o", "b.o"]
    log = ninja / ".ninja_log"
    log.write_bytes(log.read_bytes()[:-cut])
    assert "a.o" not in _ninja(ninja)
    # Whatever was appended to the torn line, all is well after it.
    _ninja(ninja)
    assert _ninja(ninja) == []
    assert [(ninja / f"{name}.o").read_text() for name in "ab"] == ["source of a", "source of b"]
