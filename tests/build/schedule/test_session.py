from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from dsv4_build.choices import Jobs
from dsv4_build.schedule import launcher, learned, session
from dsv4_build.schedule.events import FILE, Events
from dsv4_build.schedule.window import window
from dsv4_doctor.errors import BuildError

JOBS = Jobs(2, "test", 8)


def _place(root: Path) -> session.Place:
    work = root / "work"
    work.mkdir(exist_ok=True)
    return session.Place(work, root / "cache", "vllm", ["sm_90"], "13.0.88")


def _compile(variables: dict[str, str], place: session.Place, compiler: Path) -> int:
    command = variables["CMAKE_CUDA_COMPILER_LAUNCHER"].split(";")
    argv = [*command, str(compiler), "-c", "a.cu", "-o", "CMakeFiles/_C.dir/a.cu.o"]
    environ = {"PATH": "/usr/bin:/bin", **variables}
    return subprocess.run(argv, env=environ, cwd=place.work, check=False).returncode


def test_a_build_leaves_its_diary_and_what_it_learned(tmp_path: Path) -> None:
    place, said = _place(tmp_path), list[str]()
    compiler = tmp_path / "cc1plus"
    compiler.write_text("#!/bin/sh\nexec sleep 1\n")
    compiler.chmod(0o755)
    with session.scheduled(place, 2, JOBS, said.append) as variables:
        assert _compile(variables, place, compiler) == 0
    events = [json.loads(line) for line in (place.work / FILE).read_text().splitlines()]
    kinds = [each["event"] for each in events if each["event"] != "memory"]
    assert kinds == ["begin", "waiting", "admitted", "ended", "end"]
    assert (events[0]["jobs"], events[0]["window"], events[0]["cores"]) == (2, 8, 2)
    assert said == []
    # The script's own name is what was seen, before it became sleep, or nothing was.
    if events[-2]["learned"]:
        assert "_C:a.cu" in learned.load(place.work / session.COSTS).units


def test_the_command_is_the_same_in_every_run(tmp_path: Path) -> None:
    place, found = _place(tmp_path), []
    for _ in range(2):
        with session.scheduled(place, 2, JOBS, lambda _: None) as variables:
            found.append({name: variables[name] for name in variables if "LAUNCHER" in name})
            arguments = variables["CMAKE_ARGS"]
    assert found[0] == found[1]
    assert set(arguments.split()) == {f"-D{name}={value}" for name, value in found[0].items()}
    begun = (place.work / FILE).read_text().count('"begin"')
    assert begun == 2


def test_a_place_with_blanks_is_not_given_where_blanks_divide(tmp_path: Path) -> None:
    blanks = tmp_path / "a b"
    blanks.mkdir()
    with session.scheduled(_place(blanks), 2, JOBS, lambda _: None) as variables:
        assert "CMAKE_ARGS" not in variables
        assert variables[launcher.VARIABLE]


def test_a_long_directory_for_temporary_files_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    with session.scheduled(_place(tmp_path), 2, JOBS, lambda _: None) as variables:
        assert Path(variables[launcher.VARIABLE]).is_socket()


def test_a_full_disk_is_left_to_the_compilers_to_say() -> None:
    events = Events(Path("/dev/full"))
    events.begin(cores=1)
    events.write("note", text="x")
    events.close()


def test_a_build_that_compiled_nothing_through_it_is_said(tmp_path: Path) -> None:
    said: list[str] = []
    with session.scheduled(_place(tmp_path), 2, JOBS, said.append):
        pass
    assert "no compiler asked" in said[0]


def test_a_server_that_breaks_is_told_and_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = _place(tmp_path)

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("dsv4_build.schedule.server.expected", broken)
    with (
        pytest.raises(BuildError, match="ZeroDivisionError") as caught,
        session.scheduled(place, 2, JOBS, lambda _: None) as variables,
    ):
        assert _compile(variables, place, Path("/bin/true")) == 1
    assert "--no-schedule" in caught.value.hint


def test_a_failing_build_stays_its_own_failure(tmp_path: Path) -> None:
    with (
        pytest.raises(KeyError),
        session.scheduled(_place(tmp_path), 2, JOBS, lambda _: None),
    ):
        raise KeyError


@pytest.mark.parametrize(
    ("jobs", "memory", "expected"),
    [(2, None, 6), (2, 6 << 30, 26), (16, 128 << 30, 272), (1, 1 << 20, 5)],
)
def test_there_is_something_to_choose_from(jobs: int, memory: int | None, expected: int) -> None:
    assert window(jobs, memory) == expected
